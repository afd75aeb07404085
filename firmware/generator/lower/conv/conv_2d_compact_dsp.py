"""Lower int8 CONV_2D on cores with the DSP extension in builds for small flash, and DEPTHWISE_CONV_2D of one input
channel, which computes the same."""

from __future__ import annotations

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
_BLOCK_BYTES = 384
#: The largest value of the fields with 8 and with 16 bits.
_MAX_8, _MAX_16 = 0xFF, 0xFFFF


class CompactConvolutionDsp(Variant):
    """The base class of convolutions whose filters cover all input channels. ``axis`` is the axis of the output
    channels in the weights."""

    tiers = (DSP, MVE)
    priority = 300
    compact = True
    kernels = ("compact_pair_s8_dsp.c", "conv_2d_s8_compact_dsp.c")
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
        if max(*w.shape[1:3]) > _MAX_8 or max(*inp.shape, *out.shape, *view_convolution(graph, op).padding) > _MAX_16:
            return False
        if groups_of(w.shape[1] * w.shape[2] * in_c) > _MAX_16:
            return False
        layer = compact_layer(graph, op, self.axis, target)
        return layer is not None and pairs_fit(np.moveaxis(layer.weights, self.axis, 0))

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        groups = self._groups(graph, op)
        copy = 4 * groups + 4 if _copies(graph, op) else 0
        return copy + self._blocks(graph, op) * groups * _GROUP_BYTES

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        """Return (0, 0) for filters of one tap if the output has no more channels than the input: the kernel widens
        blocks of pixels before it writes their outputs, which then do not reach beyond these blocks."""
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        return () if _copies(graph, op) or out.shape[3] > inp.shape[3] else ((0, 0),)

    def lower(self, ctx: LowerContext) -> KernelCall:
        graph, op = ctx.graph, ctx.op
        view = view_convolution(graph, op)
        layer = require_accepted(compact_layer(graph, op, self.axis, ctx.target))
        weights = np.moveaxis(layer.weights, self.axis, 0)
        (k_h, k_w), (batches, in_h, in_w, in_c) = view.kernel, view.input.shape
        words = weight_words(weights, row_order(k_h * k_w * in_c, 4))
        filters = np.concatenate([layer.words.reshape(-1, 2), words], axis=1)
        _, out_h, out_w, out_c = view.output.shape
        if _is_one_row(graph, op):
            batches, in_h, out_h, in_w, out_w = 1, 1, 1, batches * in_h * in_w, batches * out_h * out_w
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "filters": ctx.weights(filters.view(np.uint32), "filters"),
            "scratch": ctx.scratch_ptr(),
            "format": layer.format_fields(ctx.table(layer.table, "scales")),
            "batches": batches,
            "in_h": in_h,
            "in_w": in_w,
            "in_c": in_c,
            "out_h": out_h,
            "out_w": out_w,
            "out_c": out_c,
            "groups": self._groups(graph, op),
            "pad_top": view.padding[0],
            "pad_left": view.padding[1],
            "k_h": k_h,
            "k_w": k_w,
            "stride_h": view.stride[0],
            "stride_w": view.stride[1],
            "blocks": self._blocks(graph, op),
            "copies": int(_copies(graph, op)),
            "zero_point": view.input.zero_point,
        }
        return KernelCall(
            "ar_conv_2d_s8_compact_dsp",
            "conv_2d_s8_compact_dsp.h",
            self.kernels,
            "ar_conv_2d_compact_params",
            fields,
        )

    def _groups(self, graph: Subgraph, op: Op) -> int:
        k_h, k_w = graph.tensors[op.inputs[1]].shape[1:3]
        return groups_of(k_h * k_w * graph.tensors[op.inputs[0]].shape[3])

    def _blocks(self, graph: Subgraph, op: Op) -> int:
        """Return the number of blocks that are widened together."""
        out = graph.tensors[op.outputs[0]]
        row = out.elements // out.shape[3] if _is_one_row(graph, op) else out.shape[2]
        fitting = _BLOCK_BYTES // (_GROUP_BYTES * self._groups(graph, op))
        return max(1, min(fitting, row // _PIXELS))


@variant
class Conv2DCompactDsp(CompactConvolutionDsp):
    op_name = "CONV_2D"
    axis = 0


@variant
class DepthwiseOfOneChannelCompactDsp(CompactConvolutionDsp):
    op_name = "DEPTHWISE_CONV_2D"
    axis = 3
    priority = 310


def groups_of(inputs: int) -> int:
    """Return the number of groups of four inputs."""
    return -(-inputs // 4)


def _copies(graph: Subgraph, op: Op) -> bool:
    """Return whether windows must be copied, because they have more than one tap."""
    return tuple(graph.tensors[op.inputs[1]].shape[1:3]) != (1, 1)


def _is_one_row(graph: Subgraph, op: Op) -> bool:
    """Return whether the pixels of all images are computed as one row."""
    out = graph.tensors[op.outputs[0]]
    steps = (op.options["stride_h"], op.options["stride_w"])
    return not _copies(graph, op) and steps == (1, 1) and out.elements // out.shape[3] <= _MAX_16
