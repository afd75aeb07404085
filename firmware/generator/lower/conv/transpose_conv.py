"""Lower TRANSPOSE_CONV to a kernel call."""

from __future__ import annotations

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import conv_padding
from arenite.firmware.generator.lower.conv.conv_2d import SUFFIX
from arenite.firmware.generator.lower.conv.convolution import (
    check_convolution,
    convolution_fields,
    view_convolution,
)
from arenite.firmware.generator.lower.core.lowering import (
    KernelCall,
    LowerContext,
    Lowering,
    register,
    require_constant,
)

#: The positions of the operator's inputs.
_SHAPE, _WEIGHTS, _DATA, _BIAS = range(4)


@register
class TransposeConv(Lowering):
    op_name = "TRANSPOSE_CONV"
    supports = "int8 or int16 activations, int8 weights per channel or per tensor; constant output shape"
    kernels = ("transpose_conv_s16.c", "transpose_conv_s8.c")

    def check(self, graph: Subgraph, op: Op) -> None:
        require_constant(op, graph.tensors[op.inputs[_SHAPE]], "the output shape")
        check_convolution(graph, op, _DATA, _WEIGHTS, _BIAS, axis=0)

    def macs(self, graph: Subgraph, op: Op) -> int:
        out_c, k_h, k_w, _ = graph.tensors[op.inputs[_WEIGHTS]].shape
        return graph.tensors[op.inputs[_DATA]].elements * k_h * k_w * out_c

    def lower(self, ctx: LowerContext) -> KernelCall:
        view = view_convolution(ctx.graph, ctx.op, _DATA, _WEIGHTS, _BIAS)
        out, (k_h, k_w), o = view.output, view.kernel, ctx.op.options
        # The operator is the transpose of a convolution whose input is ``out``. The padding is defined for that
        # convolution.
        _, top = conv_padding(o["padding"], out.shape[1], k_h, o["stride_h"], 1)
        _, left = conv_padding(o["padding"], out.shape[2], k_w, o["stride_w"], 1)
        kernel = f"transpose_conv_{SUFFIX[view.input.dtype]}"
        fields = convolution_fields(ctx, view, view.weights.shape[3], (top, left))
        return KernelCall(f"ar_{kernel}", "conv_2d.h", (f"{kernel}.c",), "ar_conv_2d_params", fields)
