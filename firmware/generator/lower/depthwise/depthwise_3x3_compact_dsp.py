"""Lower int8 DEPTHWISE_CONV_2D of 3x3 on cores with the DSP extension in builds for small flash."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.compact_layer import compact_layer
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import variant
from arenite.firmware.generator.lower.depthwise.depthwise_compact_dsp import (
    AXIS,
    GROUP,
    MAX_16,
    CompactPlane,
    DepthwiseCompactDsp,
    compact_plane,
)
from arenite.firmware.generator.target import Target


@variant
class Depthwise3x3CompactDsp(DepthwiseCompactDsp):
    priority = 160
    kernels = ("depthwise_3x3_compact_rows_s8_dsp.c", "depthwise_3x3_s8_compact_dsp.c")

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if not super().can_run(graph, op, target) or graph.tensors[op.inputs[0]].shape[0] != 1:
            return False
        plane = compact_plane(graph, op)
        return plane.kernel == (3, 3) and plane.stride in ((1, 1), (2, 2)) and _size(plane) <= MAX_16

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        return 4 * GROUP * _size(compact_plane(graph, op))

    def lower(self, ctx: LowerContext) -> KernelCall:
        view, plane = view_convolution(ctx.graph, ctx.op), compact_plane(ctx.graph, ctx.op)
        layer = require_accepted(compact_layer(ctx.graph, ctx.op, AXIS, ctx.target))
        channels = layer.weights.shape[AXIS]
        taps = layer.weights.reshape(3, 3, channels).transpose(2, 1, 0)
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "weights": ctx.weights(np.ascontiguousarray(taps).astype(np.int8), "weights"),
            "bias": ctx.weights(layer.words_and_table, "bias"),
            "scratch": ctx.scratch_ptr(),
            "format": layer.format_fields,
            "in_h": plane.input[0],
            "in_w": plane.input[1],
            "channels": channels,
            "out_h": plane.output[0],
            "out_w": plane.output[1],
            "stride": plane.stride[0],
            "pad_top": plane.padding[0],
            "pad_left": plane.padding[1],
            "zero_point": view.input.zero_point,
        }
        return KernelCall(
            "ar_depthwise_3x3_s8_compact_dsp",
            "depthwise_3x3_s8_compact_dsp.h",
            self.kernels,
            "ar_depthwise_3x3_compact_params",
            fields,
        )


def _size(plane: CompactPlane) -> int:
    """Return the words of a channel's scratch: its columns, and those by which their beginning moves."""
    stride = plane.stride[0]
    return plane.columns * (stride + 1) + (plane.output[0] - 1) // 2 * stride
