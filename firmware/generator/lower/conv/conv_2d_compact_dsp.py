"""Lower int8 CONV_2D on cores with the DSP extension in builds for small flash, and DEPTHWISE_CONV_2D of one input
channel, which computes the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.channel_pairs import pairs_fit, row_order, weight_words
from arenite.firmware.generator.lower.conv.compact_layer import compact_layer
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.target import DSP, MVE, Target

#: AR_COMPACT_PIXELS in conv_2d_s8_compact_dsp.h, and the bytes of one group of inputs of a block.
_PIXELS, _GROUP_BYTES = 3, 24
#: The bytes of blocks that are widened together. With more blocks, the scales of a channel are unpacked less often.
_BLOCK_BYTES, _MAX_BLOCKS = 700, 7
#: The largest value of the fields with 8 and with 16 bits.
_MAX_8, _MAX_16 = 0xFF, 0xFFFF


@dataclass(frozen=True)
class _Shape:
    """The rows of a filter, the bytes of each row, and the number of output pixels of the layer."""

    rows: int
    run: int
    pixels: int

    @property
    def row_groups(self) -> int:
        """The number of groups of four inputs of a row. Each row begins a new group."""
        return -(-self.run // 4)

    @property
    def groups(self) -> int:
        """The number of groups of four inputs of a window."""
        return self.rows * self.row_groups

    @property
    def blocks(self) -> int:
        """The number of blocks that are widened together."""
        fitting = min(_BLOCK_BYTES // (_GROUP_BYTES * self.groups), _MAX_BLOCKS)
        return max(1, min(fitting, self.pixels // _PIXELS))

    @property
    def order(self) -> np.ndarray:
        """The inputs of a window in the order in which the kernel reads them, like ``TapOrder.order``."""
        row = row_order(self.run, 4)
        starts = self.run * np.arange(self.rows)[:, None]
        return np.where(row < 0, row, row + starts).reshape(-1)


class CompactConvolutionDsp(Variant):
    """The base class of convolutions whose filters cover all input channels. ``axis`` is the axis of the output
    channels in the weights."""

    tiers = (DSP, MVE)
    priority = 150
    compact = True
    kernels = ("compact_pairs_s8_dsp.c", "conv_2d_s8_compact_dsp.c")
    axis: ClassVar[int]

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if target.optimise != "flash" or target.stream_input:
            return False
        inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
        in_c = w.shape[3] if self.axis == 0 else 1
        if inp.dtype != "int8" or w.data is None or w.stored or inp.shape[3] != in_c or out.shape[3] % 2:
            return False
        if op.options.get("dilation_h_factor", 1) != 1 or op.options.get("dilation_w_factor", 1) != 1:
            return False
        if max(*w.shape[1:3], *view_convolution(graph, op).padding) > _MAX_8:
            return False
        if max(*inp.shape, *out.shape) > _MAX_16:
            return False
        shape = _shape(graph, op)
        if shape.groups > _MAX_16:
            return False
        layer = compact_layer(graph, op, self.axis, target)
        return layer is not None and pairs_fit(np.moveaxis(layer.weights, self.axis, 0))

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        shape = _shape(graph, op)
        return 4 * shape.row_groups + shape.blocks * shape.groups * _GROUP_BYTES

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        """Return (0, 0) for filters of one tap if the output has no more channels than the input: the kernel widens
        blocks of pixels before it writes their outputs, which then do not reach beyond these blocks."""
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        has_one_tap = tuple(graph.tensors[op.inputs[1]].shape[1:3]) == (1, 1)
        return ((0, 0),) if has_one_tap and out.shape[3] <= inp.shape[3] else ()

    def lower(self, ctx: LowerContext) -> KernelCall:
        graph, op = ctx.graph, ctx.op
        view = view_convolution(graph, op)
        layer = require_accepted(compact_layer(graph, op, self.axis, ctx.target))
        weights = np.moveaxis(layer.weights, self.axis, 0)
        shape, (_, in_h, in_w, in_c) = _shape(graph, op), view.input.shape
        words = weight_words(weights, shape.order)
        table = layer.table.reshape(-1, 2).view(np.int32)
        filters = np.concatenate([layer.words.reshape(-1, 2), table, words], axis=1)
        batches, out_h, out_w, out_c = view.output.shape
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "filters": ctx.weights(filters.view(np.uint32), "filters", table.nbytes),
            "scratch": ctx.scratch_ptr(),
            "format": layer.format_fields,
            "batches": batches,
            "in_h": in_h,
            "in_w": in_w,
            "in_c": in_c,
            "out_h": out_h,
            "out_w": out_w,
            "out_c": out_c,
            "groups": shape.row_groups,
            "pad_top": view.padding[0],
            "pad_left": view.padding[1],
            "k_h": shape.rows,
            "k_w": view.kernel[1],
            "stride_h": view.stride[0],
            "stride_w": view.stride[1],
            "blocks": shape.blocks,
            "zero_point": view.input.zero_point,
        }
        return KernelCall(
            "ar_conv_2d_s8_compact_dsp",
            "conv_2d_s8_compact_dsp.h",
            self.kernels,
            "ar_conv_2d_compact_params",
            fields,
        )


@variant
class Conv2DCompactDsp(CompactConvolutionDsp):
    op_name = "CONV_2D"
    axis = 0


@variant
class DepthwiseOfOneChannelCompactDsp(CompactConvolutionDsp):
    op_name = "DEPTHWISE_CONV_2D"
    axis = 3
    priority = 160


def _shape(graph: Subgraph, op: Op) -> _Shape:
    w, out = graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
    run = w.shape[2] * graph.tensors[op.inputs[0]].shape[3]
    return _Shape(w.shape[1], run, out.elements // out.shape[3])
