"""Lower int8 DEPTHWISE_CONV_2D of images with a single row or column to ``depthwise_one_row_s8_dsp.c``, on cores with
the DSP extension in builds for speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.requant.fixed_shift import fix_two_sided_shift
from arenite.firmware.generator.requant.folded_layer import FoldedLayer, fold_convolution
from arenite.firmware.generator.target import DSP, Target

#: Channels that are widened together, and outputs of a block.
_GROUP, _OUTPUTS = 4, 6
#: The shift of the kernel's requantization, and the axis of the channels in the weights.
_SHIFT, _AXIS = 12, 3
#: The largest number of taps, so that ``rounds`` fits a byte.
_MAX_TAPS = 1000
#: A layer must save this number of instructions per inference for every byte of flash that it costs.
_MIN_SAVED_PER_BYTE = 4
#: Approximate instructions per tap and output of the kernel for any window, and its instructions per output.
_OTHER_PER_TAP, _OTHER_PER_OUTPUT = 2.5, 13
#: Approximate instructions of this kernel: to widen a pixel, for each block, and for each step of a block.
_PER_PIXEL, _PER_BLOCK, _PER_STEP = 2.2, 47, 8.5


@dataclass(frozen=True)
class _Row:
    """An image of one row: its width, the width of the output, the number of taps and of pixels of padding on the
    left."""

    width: int
    out_w: int
    taps: int
    pad: int

    @property
    def rounds(self) -> int:
        return -(-(self.taps // 2 + 1) // 3)

    @property
    def blocks(self) -> int:
        return -(-self.out_w // _OUTPUTS)

    @property
    def words(self) -> int:
        """The words of a channel's line."""
        return 3 * (self.blocks - 1) + 2 + 3 * self.rounds


@variant
class DepthwiseOneRowDsp(Variant):
    op_name = "DEPTHWISE_CONV_2D"
    tiers = (DSP,)
    priority = 160
    kernels = ("depthwise_lines_s8_dsp.c", "depthwise_one_row_s8_dsp.c")

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if target.optimise != "speed" or target.cores > 1:
            return False
        inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        if inp.dtype != "int8" or w.shape[3] != inp.shape[3] or inp.shape[3] < _GROUP:
            return False
        row = _row(graph, op)
        if row is None or row.taps > _MAX_TAPS or max(*inp.shape, row.words, row.out_w + row.taps) >= 1 << 16:
            return False
        channels = inp.shape[3]
        other = row.out_w * (_OTHER_PER_TAP * row.taps + _OTHER_PER_OUTPUT)
        this = _PER_PIXEL * row.width + row.blocks * (_PER_BLOCK + 3 * row.rounds * _PER_STEP)
        if inp.shape[0] * channels * (other - this) < _MIN_SAVED_PER_BYTE * 24 * row.rounds * channels:
            return False
        return _prepare(graph, op) is not None

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        """Return the bytes of the lines of four channels."""
        return 4 * _GROUP * require_accepted(_row(graph, op)).words

    def lower(self, ctx: LowerContext) -> KernelCall:
        folded = require_accepted(_prepare(ctx.graph, ctx.op))
        row = require_accepted(_row(ctx.graph, ctx.op))
        inp = ctx.graph.tensors[ctx.op.inputs[0]]
        return KernelCall(
            "ar_depthwise_one_row_s8_dsp",
            "depthwise_one_row_s8_dsp.h",
            self.kernels,
            "ar_depthwise_one_row_params",
            {
                "input": ctx.input_ptr(0),
                "output": ctx.output_ptr(),
                "taps": ctx.weights(row_taps(folded, row.rounds), "taps"),
                "scratch": ctx.scratch_ptr(),
                "rounding": folded.requant.rounding,
                "batches": inp.shape[0],
                "width": row.width,
                "out_w": row.out_w,
                "channels": inp.shape[3],
                "words": row.words,
                "pixels": row.out_w - 1 + row.taps,
                "rounds": row.rounds,
                "pad": row.pad,
                "zero_point": folded.input_zero_point,
            },
        )


def row_taps(folded: FoldedLayer, rounds: int) -> np.ndarray:
    """Return the constants of the channels, int32 [channels, 3 + 6 * rounds], in the layout of
    ``depthwise_one_row_s8_dsp.h``."""
    taps = folded.weights.reshape(-1, folded.weights.shape[3]).T * 256
    channels, count = taps.shape
    even = np.pad(taps, ((0, 0), (0, 6 * rounds - count)))
    odd = np.pad(taps, ((0, 0), (1, 6 * rounds - count - 1)))
    both = np.stack([even, odd], axis=2) & 0xFFFF  # [channels, halves of the steps, 2]
    words = (both[:, 0::2] | both[:, 1::2] << 16).reshape(channels, -1)
    requant = folded.requant
    ends = (256 * folded.bias, requant.multiplier, requant.offset)
    bias, multiplier, offset = (v.astype(np.int64)[:, None] & 0xFFFFFFFF for v in ends)
    return np.concatenate([bias, words, multiplier, offset], axis=1).astype(np.uint32).view(np.int32)


def _row(graph: Subgraph, op: Op) -> _Row | None:
    """Return the image as a row; None if it has several rows and columns, or for another stride or dilation."""
    view = view_convolution(graph, op)
    for along, across in ((1, 0), (0, 1)):
        size, outputs, taps = view.input.shape[1:3], view.output.shape[1:3], view.kernel
        if (size[across], outputs[across], taps[across]) != (1, 1, 1):
            continue
        if view.stride[along] == 1 and view.dilation[along] == 1:
            return _Row(size[along], outputs[along], taps[along], view.padding[along])
    return None


def _prepare(graph: Subgraph, op: Op) -> FoldedLayer | None:
    """Return the folded layer with a two-sided requantization with the kernel's shift; None if there is none that is
    proven exact."""
    folded = fold_convolution(graph, op, _AXIS, two_sided=True)
    return None if folded is None or folded.clamps else fix_two_sided_shift(folded, _SHIFT)
