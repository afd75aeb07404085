"""Lower SOFTMAX to a kernel call."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import quantize_multiplier, round_half_away
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
from arenite.firmware.generator.requant.softmax_table import packed_outputs_of_two

#: Scale and zero point of the output that the kernels write, by the types of the input and the output.
OUTPUT = {
    ("int8", "int8"): (1 / 256, -128),
    ("int8", "int16"): (1 / 65536, -32768),
    ("int16", "int16"): (1 / 32768, 0),
}
#: From this depth on, sums in Q12.19 could overflow, because every exponential is at most 1.
DEPTH_LIMIT = 1 << 12


@register
class Softmax(Lowering):
    op_name = "SOFTMAX"
    supports = "int8, int16, int8 to int16; along the last axis, below 4096 classes"
    kernels = ("exp_fixed.c", "softmax_of_two_s8.c", "softmax_s16.c", "softmax_s8.c", "softmax_s8_s16.c")

    def check(self, graph: Subgraph, op: Op) -> None:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        require_dtype(op, inp, ("int8", "int16"))
        require_dtype(op, out, tuple(target for source, target in OUTPUT if source == inp.dtype))
        require_quantized(op, inp)
        require_quantized(op, out, any_zero_point=True)
        scale, zero = OUTPUT[inp.dtype, out.dtype]
        if out.zero_point != zero or abs(out.scale - scale) > 0.001 * scale:
            raise refuse(
                op,
                out,
                f"must have scale 1/{round(1 / scale)} and zero point {zero}",
                "Quantize the model again with LiteRT's converter.",
            )
        check_depth(op, inp)
        beta = op.options["beta"]
        if inp.dtype == "int8":
            check_input_scale(op, inp, beta)
        elif int16_multiplier(inp, beta)[1] > 14:  # a difference has 17 bits
            raise refuse(
                op,
                inp,
                f"its scale {inp.scale} is out of range",
                "Quantize the model again with LiteRT's converter.",
            )

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        return ((0, 0),) if inp.dtype == out.dtype else ()

    def lower(self, ctx: LowerContext) -> KernelCall:
        op, inp = ctx.op, ctx.input_tensor(0)
        depth = inp.shape[-1]
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "rows": inp.elements // depth,
            "depth": u16(op, depth, "depth"),
        }
        if inp.dtype == "int8":
            multiplier, shift, diff_min = difference_scaling(inp, op.options["beta"])
            if depth == 2 and ctx.output().dtype == "int8":
                outputs = packed_outputs_of_two(multiplier, shift, diff_min)
                if outputs is not None:
                    return _softmax_of_two(ctx, outputs)
            fields |= {"multiplier": multiplier, "shift": shift, "diff_min": diff_min}
            name = "softmax_s8" if ctx.output().dtype == "int8" else "softmax_s8_s16"
            sources = (f"{name}.c", "exp_fixed.c")
            return KernelCall(f"ar_{name}", "softmax.h", sources, "ar_softmax_params", fields)
        multiplier, shift = int16_multiplier(inp, op.options["beta"])
        # As in TFLite: exp(x) for x from -10 to 0, and 1 / (1 + x) for x from 0 to 1, with an output scale of 2 /
        # 65535.
        step = 1 / 65535
        fields |= {
            "exp_table": ctx.table(table_int16(math.exp, 10 * step, 32767, 2 * step), "exp"),
            "reciprocal_table": ctx.table(table_int16(_reciprocal, step, -32768, 2 * step), "reciprocal"),
            "multiplier": multiplier,
            "shift": shift,
        }
        return KernelCall("ar_softmax_s16", "softmax.h", ("softmax_s16.c",), "ar_softmax_s16_params", fields)


def _softmax_of_two(ctx: LowerContext, outputs: np.ndarray) -> KernelCall:
    """Return the call for two values, with the table ``outputs``."""
    fields = {
        "input": ctx.input_ptr(0),
        "output": ctx.output_ptr(),
        "outputs": ctx.table(outputs, "outputs"),
        "rows": ctx.input_tensor(0).elements // 2,
        "last": len(outputs) - 1,
    }
    return KernelCall(
        "ar_softmax_of_two_s8", "softmax.h", ("softmax_of_two_s8.c",), "ar_softmax_of_two_params", fields
    )


def check_depth(op: Op, inp: Tensor) -> None:
    """Raise ``UnsupportedModelError`` unless the last axis has 1 to ``DEPTH_LIMIT`` - 1 elements."""
    if not inp.shape or inp.shape[-1] >= DEPTH_LIMIT:
        raise refuse(
            op,
            inp,
            f"the last axis must have 1 to {DEPTH_LIMIT - 1} elements",
            "Split it, or move it to the host.",
        )


def check_input_scale(op: Op, inp: Tensor, beta: float) -> None:
    """Raise ``UnsupportedModelError`` for a scale with which LiteRT stops: a difference of 1 must scale to more than 1
    in Q5.26."""
    if beta * inp.scale * (1 << 26) <= 1:
        raise refuse(
            op,
            inp,
            f"its scale {inp.scale} times beta {beta} is too small",
            "Quantize the model again with LiteRT's converter.",
        )


def difference_scaling(inp: Tensor, beta: float) -> tuple[int, int, int]:
    """Return (multiplier, left shift, smallest difference). The first two convert an input difference to Q5.26.

    Differences below the smallest one add nothing to the sum. The values are computed as in TFLite's
    PreprocessSoftmaxScaling and CalculateInputRadius with 5 integer bits. Int8 differences are at least -255, so the
    last value is limited to -256.
    """
    multiplier, shift = quantize_multiplier(min(beta * inp.scale * (1 << 26), 2.0**31 - 1))
    radius = math.floor(31 * 2.0**26 / 2.0**shift)
    return multiplier, shift, max(-radius, -256)


def int16_multiplier(inp: Tensor, beta: float) -> tuple[int, int]:
    """Return the (multiplier, shift) that convert an input difference to steps of 10 / 65535. TFLite rounds scale *
    beta to float32."""
    return quantize_multiplier(float(np.float32(inp.scale) * np.float32(beta)) / (10.0 / 65535.0))


def _reciprocal(x: float) -> float:
    return 1.0 / (1.0 + x)


def table_int16(
    function: Callable[[float], float], in_scale: float, in_zero: int, out_scale: float
) -> np.ndarray:
    """Return 513 samples of ``function`` over the int16 range, in double, spaced and corrected as in TFLite's
    LUTPopulate.

    Each sample is shifted by half of the interpolation error in the middle of its interval.
    """
    first, last = in_scale * (-32768 - in_zero), in_scale * (32767 - in_zero)
    inverse = 65536.0 / (out_scale * 32767 - out_scale * -32768)
    step = (last - first) / 512

    def scaled(x: float) -> float:
        return function(x) * inverse

    table = []
    for i in range(512):
        sample = round_half_away(scaled(first + i * step))
        middle = round_half_away(scaled(first + i * step + step / 2))
        interpolated = round_half_away((scaled(first + (i + 1) * step) + sample) / 2)
        table.append(sample - round_half_away((interpolated - middle) / 2))
    table.append(round_half_away(scaled(last)))
    return np.clip(table, -32768, 32767).astype(np.int16)
