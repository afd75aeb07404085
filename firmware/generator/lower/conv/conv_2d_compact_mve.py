"""Lower int8 CONV_2D on Helium in builds for small flash, and DEPTHWISE_CONV_2D of one input channel, which computes
the same."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.compact_layer_mve import (
    RECORD_BYTES,
    compact_layer_mve,
    layer_fields,
)
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.target import MVE, Target

#: The number of filters that the kernel computes together, and the bytes of a piece of a filter.
_GROUP, _PIECE = 4, 16
#: The largest number of values of a filter.
_MAX_DEPTH = 0xFFFF
#: Strips of images with fewer rows of outputs take longer than copies of windows.
_LEAST_ROWS = 3


class CompactConvolutionMve(Variant):
    """The base class of convolutions whose filters cover all input channels. ``axis`` is the axis of the output
    channels in the weights."""

    tiers = (MVE,)
    compact = True
    kernels = ("compact_channels_mve.c", "conv_2d_compact_s8_mve.c", "gemm_compact_s8_mve.c")
    axis: ClassVar[int]

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if target.optimise != "flash" or target.stream_input:
            return False
        inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
        in_c = w.shape[3] if self.axis == 0 else 1
        if inp.shape[3] != in_c or out.shape[3] < _GROUP or w.shape[1] * w.shape[2] * in_c > _MAX_DEPTH:
            return False
        if not _copies_nothing(graph, op) and out.shape[1] < _LEAST_ROWS:
            return False
        return compact_layer_mve(graph, op, self.axis, target) is not None

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        """Return the bytes of the records and of a strip."""
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        records = -(-out.shape[3] // _GROUP) * _GROUP * RECORD_BYTES
        if _copies_nothing(graph, op):
            return records
        k_h, k_w = graph.tensors[op.inputs[1]].shape[1:3]
        rows = (out.shape[1] - 1) * int(op.options["stride_h"]) + k_h
        return records + rows * k_w * inp.shape[3]

    def lower(self, ctx: LowerContext) -> KernelCall:
        layer = require_accepted(compact_layer_mve(ctx.graph, ctx.op, self.axis, ctx.target))
        return KernelCall(
            "ar_conv_2d_compact_s8_mve",
            "conv_2d_compact_s8_mve.h",
            self.kernels,
            "ar_compact_layer_mve",
            layer_fields(ctx, layer, pack_pieces(layer.filters)),
        )


@variant
class Conv2DCompactMve(CompactConvolutionMve):
    op_name = "CONV_2D"
    axis = 0
    priority = 218


@variant
class DepthwiseOfOneChannelCompactMve(CompactConvolutionMve):
    op_name = "DEPTHWISE_CONV_2D"
    axis = 3
    priority = 218


def pack_pieces(filters: np.ndarray) -> np.ndarray:
    """Return ``filters``, int8 [channels, depth], divided along the depth into pieces of 16 bytes and the rest. Each
    piece of all channels is stored before the next piece."""
    ends = range(_PIECE, filters.shape[1] + 1, _PIECE)
    return np.concatenate([part.reshape(-1) for part in np.split(filters, ends, axis=1)]).astype(np.int8)


def _copies_nothing(graph: Subgraph, op: Op) -> bool:
    """Return whether each window is one input pixel, one after the other."""
    view = view_convolution(graph, op)
    return view.kernel == (1, 1) and view.stride == (1, 1)
