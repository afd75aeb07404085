"""Lower DEPTHWISE_CONV_2D to a kernel call."""

from __future__ import annotations

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.planner.row_requirements import RowRequirements
from arenite.firmware.generator.lower.conv.conv_2d import SUFFIX
from arenite.firmware.generator.lower.conv.convolution import (
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


@register
class DepthwiseConv2D(Lowering):
    op_name = "DEPTHWISE_CONV_2D"
    supports = (
        "int8 or int16 activations, int8 weights (or int4 with int8 activations) per channel or per tensor; strides, "
        "dilation, depth multiplier"
    )
    kernels = ("depthwise_conv_2d_s16.c", "depthwise_conv_2d_s8.c")

    def check(self, graph: Subgraph, op: Op) -> None:
        check_convolution(graph, op, 0, 1, 2, axis=3)
        inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        if inp.dtype == "int16" and w.stored == "int4":
            raise refuse(
                op, w, "LiteRT misreads int4 weights if activations are int16", "Use int8 weights here."
            )
        u8(op, op.options["dilation_h_factor"], "vertical dilation")
        u8(op, op.options["dilation_w_factor"], "horizontal dilation")

    def macs(self, graph: Subgraph, op: Op) -> int:
        _, k_h, k_w, _ = graph.tensors[op.inputs[1]].shape
        return graph.tensors[op.outputs[0]].elements * k_h * k_w

    def rows(self, graph: Subgraph, op: Op) -> RowRequirements | None:
        return convolution_rows(graph, op, "ar_depthwise_conv_2d_s8_row")

    def lower(self, ctx: LowerContext) -> KernelCall:
        view = view_convolution(ctx.graph, ctx.op)
        kernel = f"depthwise_conv_2d_{SUFFIX[view.input.dtype]}"
        # The depth multiplier: output channels per input channel. LiteRT computes it from the shapes and does not read
        # the option `depth_multiplier`.
        k_c = view.weights.shape[3] // view.input.shape[3]
        fields = convolution_fields(ctx, view, k_c, view.padding, axis=3)
        return KernelCall(f"ar_{kernel}", "conv_2d.h", (f"{kernel}.c",), "ar_conv_2d_params", fields)
