"""Lower LOG_SOFTMAX to a kernel call."""

from __future__ import annotations

import math

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import quantize_multiplier
from arenite.firmware.generator.lower.core.lowering import (
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
    require_dtype,
    require_quantized,
    u16,
)
from arenite.firmware.generator.lower.reduce.softmax import check_depth, check_input_scale

#: Scale and zero point of the output that the kernel writes.
_SCALE, _ZERO = 16 / 256, 127


@register
class LogSoftmax(Lowering):
    op_name = "LOG_SOFTMAX"
    supports = "int8; along the last axis, below 4096 classes"
    kernels = ("exp_fixed.c", "log_softmax_s8.c")

    def check(self, graph: Subgraph, op: Op) -> None:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        for tensor in (inp, out):
            require_dtype(op, tensor, ("int8",))
            require_quantized(op, tensor)
        if (out.scale, out.zero_point) != (_SCALE, _ZERO):
            raise refuse(
                op,
                out,
                f"must have scale 1/16 and zero point {_ZERO}",
                "Quantize the model again with LiteRT's converter.",
            )
        check_depth(op, inp)
        check_input_scale(op, inp, 1.0)
        if reverse_factor(*to_q5(inp)) >= 1.0:
            raise refuse(
                op,
                inp,
                f"its scale {inp.scale} is too small",
                "Quantize the model again with LiteRT's converter.",
            )

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    def lower(self, ctx: LowerContext) -> KernelCall:
        op, inp = ctx.op, ctx.input_tensor(0)
        multiplier, shift = to_q5(inp)
        reverse_multiplier, reverse_shift = quantize_multiplier(reverse_factor(multiplier, shift))
        depth = inp.shape[-1]
        return KernelCall(
            "ar_log_softmax_s8",
            "log_softmax.h",
            ("log_softmax_s8.c", "exp_fixed.c"),
            "ar_log_softmax_params",
            {
                "input": ctx.input_ptr(0),
                "output": ctx.output_ptr(),
                "rows": inp.elements // depth,
                "multiplier": multiplier,
                "reverse_multiplier": reverse_multiplier,
                # TFLite's CalculateInputRadius with 5 integer bits
                "diff_min": -math.floor(31 * 2.0**26 / 2.0**shift),
                "depth": u16(op, depth, "depth"),
                "shift": shift,
                "reverse_shift": reverse_shift,
            },
        )


def to_q5(inp: Tensor) -> tuple[int, int]:
    """Return the (multiplier, shift) that convert an input difference to Q5.26 (TFLite's PreprocessSoftmaxScaling)."""
    return quantize_multiplier(min(inp.scale * (1 << 26), 2.0**31 - 1))


def reverse_factor(multiplier: int, shift: int) -> float:
    """Return the factor from Q5.26 back to an input difference, the inverse of (multiplier, shift).

    It is computed as in TFLite's PreprocessLogSoftmaxScalingExp. LiteRT requires it to be below 1.
    """
    return (1 << (31 - shift)) / multiplier
