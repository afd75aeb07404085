"""Lower CONV_2D to a kernel call."""

from __future__ import annotations

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.planner.row_requirements import RowRequirements
from arenite.firmware.generator.lower.conv.convolution import (
    BIAS_OF,
    check_convolution,
    convolution_fields,
    u8,
    view_convolution,
)
from arenite.firmware.generator.lower.core.lowering import (
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
)
from arenite.firmware.generator.lower.core.row_functions import convolution_rows

SUFFIX = {"int8": "s8", "int16": "s16"}


@register
class Conv2D(Lowering):
    op_name = "CONV_2D"
    supports = (
        "int8 or int16 activations, int8 or int4 weights per channel or per tensor; strides, dilation, groups"
    )
    kernels = ("conv_2d_s16.c", "conv_2d_s8.c", "dot4_s8.c")

    def check(self, graph: Subgraph, op: Op) -> None:
        check_convolution(graph, op, 0, 1, 2, axis=0)
        u8(op, op.options["dilation_h_factor"], "vertical dilation")
        u8(op, op.options["dilation_w_factor"], "horizontal dilation")
        if op.input(2) < 0:
            inp = graph.tensors[op.inputs[0]]
            raise refuse(
                op, None, "has no bias", f"Add an {BIAS_OF[inp.dtype]} bias of zeros: LiteRT requires one."
            )

    def macs(self, graph: Subgraph, op: Op) -> int:
        _, k_h, k_w, k_c = graph.tensors[op.inputs[1]].shape
        return graph.tensors[op.outputs[0]].elements * k_h * k_w * k_c

    def rows(self, graph: Subgraph, op: Op) -> RowRequirements | None:
        return convolution_rows(graph, op, "ar_conv_2d_s8_row")

    def lower(self, ctx: LowerContext) -> KernelCall:
        view = view_convolution(ctx.graph, ctx.op)
        kernel = f"conv_2d_{SUFFIX[view.input.dtype]}"
        fields = convolution_fields(ctx, view, view.weights.shape[3], view.padding)
        sums = ("dot4_s8.c",) if view.input.dtype == "int8" else ()
        return KernelCall(f"ar_{kernel}", "conv_2d.h", (f"{kernel}.c", *sums), "ar_conv_2d_params", fields)
