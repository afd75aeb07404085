"""Lower L2_NORMALIZATION to a kernel call."""

from __future__ import annotations

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.core.lowering import (
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
    require_dtype,
    require_quantized,
)

#: Above this depth, the sum of squares (each at most 255^2) could overflow 32 bits.
_DEPTH_LIMIT = (2**31 - 1) // 255**2


@register
class L2Normalization(Lowering):
    op_name = "L2_NORMALIZATION"
    supports = "int8; along the last axis"
    kernels = ("exp_fixed.c", "inv_sqrt.c", "l2_normalization_s8.c")

    def check(self, graph: Subgraph, op: Op) -> None:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        for tensor in (inp, out):
            require_dtype(op, tensor, ("int8",))
            require_quantized(op, tensor)
        if (out.scale, out.zero_point) != (1 / 128, 0):
            raise refuse(
                op,
                out,
                "must have scale 1/128 and zero point 0",
                "Quantize the model again with LiteRT's converter.",
            )
        if op.options["fused_activation_function"]:
            raise refuse(
                op,
                out,
                "a fused activation is not defined here",
                "Export the activation as a separate operator.",
            )
        if not inp.shape or inp.shape[-1] > _DEPTH_LIMIT:
            raise refuse(
                op,
                inp,
                f"the last axis must have 1 to {_DEPTH_LIMIT} elements",
                "Export the model with a reshape before it.",
            )

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    def lower(self, ctx: LowerContext) -> KernelCall:
        inp = ctx.input_tensor(0)
        depth = inp.shape[-1]
        return KernelCall(
            "ar_l2_normalization_s8",
            "l2_normalization.h",
            ("l2_normalization_s8.c", "inv_sqrt.c", "exp_fixed.c"),
            "ar_l2_normalization_params",
            {
                "input": ctx.input_ptr(0),
                "output": ctx.output_ptr(),
                "rows": inp.elements // depth,
                "depth": depth,
                "input_offset": -inp.zero_point,
            },
        )
