"""Lower DEPTHWISE_CONV_2D to a kernel without SIMD instructions, ``depthwise_conv_2d_s8_scalar.c``."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.conv_2d_scalar import geometry
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.scalar_requantization import (
    SCALE,
    has_offsets,
    requant_fields,
    scaled_bias,
)
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.requant.folded_layer import fold_convolution
from arenite.firmware.generator.target import Target

#: The number of neighboring outputs that the kernel computes together. Line buffers are large enough for at least this
#: number of outputs.
_BLOCK = 3
#: The kernel adds this number to every input byte in its line buffers.
_INPUT_BIAS = 128


@variant
class DepthwiseScalar(Variant):
    op_name = "DEPTHWISE_CONV_2D"
    tiers = ("scalar", "dsp", "mve", "simd128")
    priority = 100
    kernels = ("affine_requant.c", "depthwise_conv_2d_s8_scalar.c")
    row_function = "ar_depthwise_conv_2d_s8_scalar_row"

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        if inp.dtype != "int8" or inp.shape[3] != out.shape[3]:
            return False
        folded = fold_convolution(graph, op, 3, SCALE)
        return folded is not None and has_offsets(folded)

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        g = geometry(graph, op)
        columns = (max(g.out_w, _BLOCK) - 1) * g.stride_w + (g.k_w - 1) * g.dilation_w + 1
        lines = (g.k_h - 1) * g.dilation_h + 1
        # 8 bytes per row pointer: the code can also be built for a 64-bit computer.
        return lines * (-(-columns * g.in_c // 4) * 4) + 8 * (g.k_h + 1)

    def lower(self, ctx: LowerContext) -> KernelCall:
        folded = require_accepted(fold_convolution(ctx.graph, ctx.op, 3, SCALE))
        sums = folded.weights.sum(axis=(0, 1, 2))
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "weights": ctx.weights(
                np.moveaxis(folded.weights, 3, 0).astype(np.int8).view(np.uint8), "weights"
            ),
            **requant_fields(ctx, folded, scaled_bias(folded, -_INPUT_BIAS * sums)),
            "runs": 0,
            "scratch": ctx.scratch_ptr(),
            **geometry(ctx.graph, ctx.op).fields(),
            "biased": 0,
            "together": 0,
            "padding": folded.input_zero_point,
        }
        return KernelCall(
            "ar_depthwise_conv_2d_s8_scalar",
            "conv_2d_scalar.h",
            ("depthwise_conv_2d_s8_scalar.c", "affine_requant.c"),
            "ar_conv_2d_scalar_params",
            fields,
        )
