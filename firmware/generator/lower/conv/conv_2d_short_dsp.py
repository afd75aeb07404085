"""Lower int8 CONV_2D with short filters, and DEPTHWISE_CONV_2D of one input channel, on cores with the DSP extension in
builds for speed. Weights are stored as int16, see ``short_blocks_s8_dsp.h``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.channel_pairs import GROUP_ORDER
from arenite.firmware.generator.lower.conv.conv_2d_dsp import MAX_ROWS, shape_of
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.requant.fixed_shift import FixedShift, fix_shift
from arenite.firmware.generator.requant.folded_layer import FoldedLayer, fold_convolution
from arenite.firmware.generator.target import DSP, Target

#: AR_SHORT_WORDS and AR_SHORT_SHIFT in short_blocks_s8_dsp.h: the largest number of words of a window, and the shift of
#: the requantization.
_MAX_WORDS, _SHIFT = 32, 12
#: A layer must save this number of instructions per inference for every byte of flash that it costs.
_MIN_SAVED_PER_BYTE = 8
#: Instructions saved per multiply-accumulate and per output (measured).
_SAVED_PER_MAC, _SAVED_PER_OUTPUT = 0.04, 2.5
#: Instructions per multiply-accumulate, and to copy a row of a window with its padding.
_PER_MAC, _COPY = 0.8, 60
#: Pixels of a block.
_PIXELS = 3
_KERNELS = ("conv_2d_s8_short_dsp.c", "short_blocks_s8_dsp.c")


@dataclass(frozen=True)
class ShortTaps:
    """How the kernel reads a row of a window: ``groups`` of four bytes, then ``rest`` (0 or 1) bytes. ``words`` is the
    number of words of the whole window. ``order``, int64 [words * 2], is for each input that the kernel reads its index
    in the window [k_h][k_w][in_c], or -1 for an input whose weight is 0."""

    groups: int
    rest: int
    words: int
    order: np.ndarray


def short_taps(k_h: int, k_w: int, in_c: int) -> ShortTaps:
    """Return the order in which the kernel reads a window."""
    length = k_w * in_c
    rest = int(length > 4 and length % 4 == 1)
    groups = -(-(length - rest) // 4)
    within = (4 * np.arange(groups)[:, None] + GROUP_ORDER).reshape(-1)
    within = np.where(within < length, within, -1)
    if rest:
        within = np.append(within, [length - 1, -1])
    order = np.where(within < 0, -1, length * np.arange(k_h)[:, None] + within)
    return ShortTaps(groups, rest, k_h * (2 * groups + rest), order.reshape(-1))


class ConvolutionShortDsp(Variant):
    """The base class of convolutions whose filters cover all input channels. ``axis`` is the axis of the output
    channels in the weights."""

    tiers = (DSP,)
    kernels: ClassVar[tuple[str, ...]] = _KERNELS
    row_function = "ar_conv_2d_s8_short_dsp_row"
    axis: ClassVar[int]

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if target.optimise != "speed":
            return False
        inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
        channels = w.shape[3] if self.axis == 0 else 1
        if inp.dtype != "int8" or w.data is None or inp.shape[3] != channels or w.shape[1] > MAX_ROWS:
            return False
        if out.shape[3] % 2 or op.options["dilation_w_factor"] != 1 or w.shape[2] > 255:
            return False
        if max(*inp.shape, *out.shape) >= 1 << 16:
            return False
        taps = self._taps(graph, op)
        if taps.words > _MAX_WORDS:
            return False
        if self._saved(graph, op, taps) < _MIN_SAVED_PER_BYTE * (4 * taps.words * out.shape[3] - w.elements):
            return False
        return self._prepare(graph, op) is not None

    def _saved(self, graph: Subgraph, op: Op, taps: ShortTaps) -> float:
        """Return the approximate number of instructions that the kernel saves in an inference."""
        w, out = graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
        products = w.elements // out.shape[3]
        saved = out.elements * (products * _SAVED_PER_MAC + _SAVED_PER_OUTPUT)
        shape = shape_of(graph, op)
        if w.shape[1:3] == (1, 1) and shape["stride_h"] == shape["stride_w"] == 1:
            return saved
        # A row is computed in blocks, and the blocks at the edges of an image need a copy of their inputs.
        rows = shape["batches"] * shape["out_h"]
        surplus = -shape["out_w"] % _PIXELS
        needed = (shape["out_w"] - 1) * shape["stride_w"] + w.shape[2]
        edges = (shape["pad_left"] > 0) + (surplus > 0 or needed > shape["in_w"] + shape["pad_left"])
        saved -= rows * surplus * shape["out_c"] * products * _PER_MAC
        return saved - rows * edges * shape["k_h"] * _COPY

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        """Return the bytes of the widened inputs of a block, of the copy of its inputs with padding, and of a block of
        outputs."""
        taps, shape = self._taps(graph, op), shape_of(graph, op)
        reach = 4 * taps.groups + taps.rest + (_PIXELS - 1) * shape["stride_w"] * shape["in_c"]
        return 4 * _PIXELS * taps.words + shape["k_h"] * reach + _PIXELS * shape["out_c"]

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        """Return (0, 0) for filters of one tap if the output has no more channels than the input: the kernel widens a
        block of pixels before it writes their outputs, which then do not reach beyond the block."""
        inp, out, w = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]], graph.tensors[op.inputs[1]]
        return ((0, 0),) if w.shape[1:3] == (1, 1) and out.shape[3] <= inp.shape[3] else ()

    def lower(self, ctx: LowerContext) -> KernelCall:
        folded, fixed = require_accepted(self._prepare(ctx.graph, ctx.op))
        taps, shape = self._taps(ctx.graph, ctx.op), shape_of(ctx.graph, ctx.op)
        del shape["dilation_w"]
        return KernelCall(
            "ar_conv_2d_s8_short_dsp",
            "conv_2d_s8_short_dsp.h",
            _KERNELS,
            "ar_conv_2d_short_params",
            {
                "input": ctx.input_ptr(0),
                "output": ctx.output_ptr(),
                "filters": ctx.weights(short_filters(folded.weights, fixed, taps.order), "filters"),
                "scratch": ctx.scratch_ptr(),
                "rounding": fixed.rounding,
                **shape,
                "k_w": ctx.graph.tensors[ctx.op.inputs[1]].shape[2],
                "groups": taps.groups,
                "rest": taps.rest,
                "words": taps.words,
                "zero_point": folded.input_zero_point,
                "act_min": folded.act_range[0],
                "act_max": folded.act_range[1],
            },
        )

    def _taps(self, graph: Subgraph, op: Op) -> ShortTaps:
        _, k_h, k_w, _ = graph.tensors[op.inputs[1]].shape
        return short_taps(k_h, k_w, graph.tensors[op.inputs[0]].shape[3])

    def _prepare(self, graph: Subgraph, op: Op) -> tuple[FoldedLayer, FixedShift] | None:
        """Return the layer, with its weights as [out_c][k_h][k_w][in_c], and its requantization with the kernel's
        shift; None if that is not proven exact."""
        folded = fold_convolution(graph, op, self.axis)
        fixed = None if folded is None else fix_shift(folded, self.axis, _SHIFT)
        if folded is None or fixed is None:
            return None
        return replace(folded, weights=np.moveaxis(folded.weights, self.axis, 0)), fixed


@variant
class Conv2DShortDsp(ConvolutionShortDsp):
    op_name = "CONV_2D"
    priority = 220
    axis = 0


@variant
class DepthwiseOneChannelShortDsp(ConvolutionShortDsp):
    op_name = "DEPTHWISE_CONV_2D"
    priority = 220
    axis = 3


def short_filters(weights: np.ndarray, fixed: FixedShift, order: np.ndarray) -> np.ndarray:
    """Return the filters, int32 [out_c / 2, 4 + len(order)], in the layout of ``short_blocks_s8_dsp.h``."""
    channels = len(weights)
    inputs = np.where(order < 0, 0, weights.reshape(channels, -1)[:, order]) * 256 & 0xFFFF
    words = inputs[:, 0::2] | inputs[:, 1::2] << 16
    paired = words.reshape(channels // 2, 2, -1).transpose(0, 2, 1).reshape(channels // 2, -1)
    bias, multiplier = (
        v.astype(np.int64).reshape(-1, 2) & 0xFFFFFFFF for v in (fixed.bias, fixed.multiplier)
    )
    return (
        np.concatenate([paired[:, :2], bias, paired[:, 2:], multiplier], axis=1)
        .astype(np.uint32)
        .view(np.int32)
    )
