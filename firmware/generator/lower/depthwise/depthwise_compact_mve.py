"""Lower DEPTHWISE_CONV_2D with one output per input channel for Helium in builds for small flash."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.compact_layer_mve import (
    RECORD_BYTES,
    UNPACKED,
    compact_layer_mve,
    has_padding,
    layer_fields,
)
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.lower.depthwise.depthwise_conv_2d_mve import BLOCK, blocks, sums_fit
from arenite.firmware.generator.target import MVE, Target

#: Bytes of an address, also on a 64-bit computer.
_ADDRESS = 8
#: The axis of the channels in the weights.
_AXIS = 3
#: Fields to exchange when a column is treated as a row.
_AXES = (
    ("in_h", "in_w"),
    ("out_h", "out_w"),
    ("k_h", "k_w"),
    ("pad_top", "pad_left"),
    ("stride_h", "stride_w"),
)


@variant
class DepthwiseCompactMve(Variant):
    op_name = "DEPTHWISE_CONV_2D"
    tiers = (MVE,)
    priority = 216
    compact = True
    kernels = ("compact_channels_mve.c", "depthwise_compact_run_mve.c", "depthwise_compact_s8_mve.c")
    function = "ar_depthwise_compact_s8_mve"

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if target.optimise != "flash" or target.stream_input:
            return False
        channels = graph.tensors[op.inputs[0]].shape[3]
        if channels != graph.tensors[op.outputs[0]].shape[3] or channels < UNPACKED:
            return False
        layer = compact_layer_mve(graph, op, _AXIS, target)
        return layer is not None and sums_fit(layer.filters)

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        """Return the bytes of the records, of the addresses of a window's taps, and of a row of padding."""
        view = view_convolution(graph, op)
        channels = view.output.shape[3]
        records = -(-channels // BLOCK) * BLOCK * RECORD_BYTES
        taps = view.kernel[0] * view.kernel[1] * _ADDRESS
        if not has_padding(graph, op):
            return records + taps
        in_w = view.input.shape[1] if _is_column(graph, op) else view.input.shape[2]
        return records + taps + in_w * channels + BLOCK - 1

    def lower(self, ctx: LowerContext) -> KernelCall:
        layer = require_accepted(compact_layer_mve(ctx.graph, ctx.op, _AXIS, ctx.target))
        channels = len(layer.filters)
        # With few channels, one block computes several neighboring pixels.
        repeat = BLOCK // channels if channels < BLOCK and BLOCK % channels == 0 else 1
        weights = blocks(np.tile(layer.filters, (repeat, 1))).transpose(0, 2, 1)
        fields: dict[str, Any] = layer_fields(ctx, layer, np.ascontiguousarray(weights))
        if _is_column(ctx.graph, ctx.op):
            # The bytes are the same, and the outputs of a row share their set-up.
            exchanged = {a: fields[b] for pair in _AXES for a, b in (pair, pair[::-1])}
            fields |= exchanged
        return KernelCall(
            self.function, "depthwise_compact_mve.h", self.kernels, "ar_compact_layer_mve", fields
        )


@variant
class Depthwise3x3CompactMve(DepthwiseCompactMve):
    priority = 217
    kernels = ("compact_channels_mve.c", "depthwise_3x3_compact_run_mve.c", "depthwise_3x3_compact_s8_mve.c")
    function = "ar_depthwise_3x3_compact_s8_mve"

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        return graph.tensors[op.inputs[1]].shape[1:3] == (3, 3) and super().can_run(graph, op, target)


def _is_column(graph: Subgraph, op: Op) -> bool:
    """Return whether the image, the window and the output are one pixel wide."""
    view = view_convolution(graph, op)
    return (view.input.shape[2], view.kernel[1], view.output.shape[2]) == (1, 1, 1)
