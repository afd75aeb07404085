"""Lower DEPTHWISE_CONV_2D with windows of 3 x 3 for Helium, one channel at a time: see depthwise_tiles_s8_mve.h."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.conv.gemm_layout_mve import DoubleRounding, folded_bias, requantization
from arenite.firmware.generator.lower.core.lowering import (
    NULL,
    KernelCall,
    LowerContext,
    require_accepted,
    u16,
)
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.lower.depthwise.depthwise_conv_2d_mve import BLOCK, taps_of
from arenite.firmware.generator.target import MVE, Target

#: The largest right shift: the highest byte of a word shifted to the left by 24 - n is the output.
MAX_SHIFT = 24
#: Outputs are stored at 16-bit offsets from the first output of a group.
_MAX_GROUP_BYTES = 1 << 16
#: The pairs of outputs that a pass computes, by stride. At stride 1 a tile has two pairs, one above the other.
_PASS_PAIRS = {1: 2, 2: 4}
#: Instructions of the kernel, by stride: of a pass, of a channel in a group, of a strip, and of sixteen bytes of it.
_PASS, _CHANNEL, _STRIP, _INTERLEAVE = {1: 28, 2: 35}, 15, 90, 9
#: Instructions of the other kernel for windows of 3 x 3: of sixteen channels of an output, and of a row.
_OTHER_BLOCK, _OTHER_ROW = 136, 250
#: A group has the fewest strips with which the layer takes at most this many times the instructions of the best number:
#: more strips need more RAM.
_NEAR_BEST = 1.075
#: Strips may make the arena larger than the tensors of the layer by this factor, or by these bytes, if no other layer
#: needs a larger one.
_ARENA_GROWTH, _SMALL_BYTES = 1.4, 4096
#: The kernel is chosen if it takes at most this many times the instructions of the other kernel, by stride. Its
#: instructions take more cycles, because loads gather four words each, and it also takes more RAM and flash.
_WORTH = {1: 0.85, 2: 0.77}


@dataclass(frozen=True)
class Tiling:
    """How a layer is divided into strips and groups. ``columns``: the columns of a strip, with those of the padding.
    ``group``: the strips of a group."""

    stride: int
    out_h: int
    out_w: int
    channels: int
    row_bytes: int
    columns: int
    group: int

    @property
    def rows(self) -> int:
        """The output rows of a strip."""
        return 2 if self.stride == 1 else 1

    @property
    def strips(self) -> int:
        """The strips of an image. If the number of rows is odd, the last group begins one row earlier, or its last
        strip if it is the only group."""
        return -(-self.out_h // self.rows)

    @property
    def last_group(self) -> int:
        """The strips of the last group of an image."""
        return self.strips % self.group or self.group

    def pass_count(self, strips: int) -> int:
        """Return the number of passes of a group of ``strips`` strips."""
        return -(-strips * -(-self.out_w // 2) // _PASS_PAIRS[self.stride])

    @property
    def instructions(self) -> float:
        """The estimated instructions of an image."""
        groups = [self.group] * (self.strips // self.group)
        groups += [self.last_group] if self.strips % self.group else []
        channels = sum(self.pass_count(n) * _PASS[self.stride] + _CHANNEL for n in groups)
        return self.channels * channels + self.strips * (_STRIP + _INTERLEAVE * -(-self.row_bytes // 16))

    def passes(self, strips: int, rows: int) -> np.ndarray:
        """Return the table of the passes of a group of ``strips`` strips and ``rows`` output rows, as uint32 words: see
        depthwise_tiles_s8_mve.h."""
        stride, channels = self.stride, self.channels
        pairs = [(s, min(x, self.out_w - 2)) for s in range(strips) for x in range(0, self.out_w, 2)]
        pairs += [pairs[-1]] * (-len(pairs) % _PASS_PAIRS[stride])
        words: list[int] = []
        for at in range(0, len(pairs), _PASS_PAIRS[stride]):
            outputs: list[int] = []
            for s, x in pairs[at : at + _PASS_PAIRS[stride]]:
                y = min(self.rows * s, rows - self.rows)
                words += [4 * channels * (s * self.columns + stride * x + k) for k in range(4)]
                outputs += [
                    channels * ((y + r) * self.out_w + x + q) for r in range(self.rows) for q in (0, 1)
                ]
            words += [first << 16 | second for first, second in zip(outputs[:4], outputs[4:], strict=True)]
        # At stride 1, the kernel reads the offsets of a tile after the last pass, and does not use them.
        words += [0] * 4 if stride == 1 else []
        return np.array(words, np.uint32)

    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the tables of the passes of a group, and of the last group of an image."""
        if self.strips == self.group:
            only = self.passes(self.group, self.out_h)
            return only, only
        full, last = (self.passes(n, n * self.rows) for n in (self.group, self.last_group))
        return full, last

    @property
    def scratch(self) -> int:
        """The bytes of the strips of a group."""
        return 4 * self.group * self.columns * self.channels


def tiling_of(graph: Subgraph, op: Op) -> Tiling | None:
    """Return the tiling of a layer with windows of 3 x 3; None if the kernel cannot run it."""
    inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    view = view_convolution(graph, op)
    stride = view.stride[0]
    if view.kernel != (3, 3) or view.dilation != (1, 1) or view.stride not in ((1, 1), (2, 2)):
        return None
    (_, _, in_w, channels), (_, out_h, out_w, _) = inp.shape, out.shape
    if out_w < 2 or out_h < (2 if stride == 1 else 1) or in_w * channels < BLOCK:
        return None
    one = Tiling(stride, out_h, out_w, channels, in_w * channels, 0, 1)
    # At stride 2 a tile has one column more than its output.
    columns = max(stride * (out_w - 1) + (3 if stride == 1 else 4), view.padding[1] + in_w)
    largest = min(one.strips, (_MAX_GROUP_BYTES - 1) // (one.rows * out_w * channels))
    choices = [replace(one, columns=columns, group=n) for n in range(1, largest + 1)]
    if not choices:
        return None
    room = _room(graph, op)
    choices = [t for t in choices if t.scratch <= room] or choices[:1]
    best = min(t.instructions for t in choices)
    return next(t for t in choices if t.instructions <= _NEAR_BEST * best)


def _room(graph: Subgraph, op: Op) -> float:
    """Return the bytes that strips may take."""
    layer = _activation_bytes(graph, op)
    busiest = max(_activation_bytes(graph, other) for other in graph.ops)
    return max(_ARENA_GROWTH * layer, layer + _SMALL_BYTES, busiest) - layer


def _activation_bytes(graph: Subgraph, op: Op) -> int:
    """Return the bytes of the inputs and outputs of a layer, without constants."""
    tensors = [graph.tensors[i] for i in {*op.inputs, *op.outputs} if i >= 0]
    return sum(tensor.nbytes for tensor in tensors if tensor.data is None)


def other_instructions(graph: Subgraph, op: Op) -> float:
    """Return the estimated instructions for an image of the kernel that computes sixteen channels at a time."""
    _, out_h, out_w, channels = graph.tensors[op.outputs[0]].shape
    is_seamless = op.options["stride_w"] == 1 and channels < BLOCK and BLOCK % channels == 0
    blocks = out_w * channels / BLOCK if is_seamless else out_w * -(-channels // BLOCK)
    return float(out_h * (_OTHER_ROW + _OTHER_BLOCK * blocks))


def pack_constants(
    filters: np.ndarray, bias: np.ndarray, rounding: DoubleRounding, output_zero: int
) -> np.ndarray:
    """Return the nine words of each channel, int32 [channels, 9]. ``filters`` is int8 [channels, 9], ``bias`` int32
    [channels]."""
    count = len(filters)
    columns = np.zeros((count, 3, 4), np.int8)
    columns[:, :, :3] = filters.reshape(count, 3, 3).transpose(0, 2, 1)
    words = np.zeros((count, 9), np.int64)
    right = -rounding.shift.astype(np.int64)
    words[:, 1:4] = columns.view("<i4")[:, :, 0]
    words[:, 5] = bias
    words[:, 6] = rounding.multiplier
    words[:, 7] = MAX_SHIFT - right
    words[:, 8] = (output_zero << right) + ((1 << right) >> 1)
    return words.astype(np.int32)


@variant
class DepthwiseTilesMve(Variant):
    op_name = "DEPTHWISE_CONV_2D"
    tiers = (MVE,)
    priority = 220
    kernels = ("depthwise_tiles_run_s8_mve.c", "depthwise_tiles_s8_mve.c")

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        # The strips take RAM, and the kernel cannot compute single rows.
        if target.optimise != "speed" or target.stream_input:
            return False
        inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
        if inp.dtype != "int8" or w.data is None or inp.shape[3] != out.shape[3]:
            return False
        tiling, rounding = tiling_of(graph, op), requantization(graph, op)
        if tiling is None or rounding is None or np.any(rounding.shift < -MAX_SHIFT):
            return False
        return tiling.instructions <= _WORTH[tiling.stride] * other_instructions(graph, op)

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        """Return the bytes of the strips, and of one row of padding if the image has rows of padding."""
        tiling = require_accepted(tiling_of(graph, op))
        return tiling.scratch + (tiling.row_bytes if _has_padding_rows(graph, op) else 0)

    def lower(self, ctx: LowerContext) -> KernelCall:
        op, view = ctx.op, view_convolution(ctx.graph, ctx.op)
        inp, out = view.input, view.output
        tiling = require_accepted(tiling_of(ctx.graph, op))
        rounding = require_accepted(requantization(ctx.graph, op))
        filters = taps_of(view.filters)
        sums = folded_bias(filters, view.bias_values, inp.zero_point)
        (top, left), (low, high) = view.padding, view.activation_range
        full_table, last_table = tiling.tables()
        has_padding = _has_padding_rows(ctx.graph, op)
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "constants": ctx.weights(pack_constants(filters, sums, rounding, out.zero_point), "constants"),
            "passes": ctx.table(full_table, "passes"),
            "last_passes": ctx.table(last_table, "passes"),
            "strips": ctx.scratch_ptr(),
            "padding": ctx.scratch_ptr(tiling.scratch) if has_padding else NULL,
            "batches": u16(op, inp.shape[0], "batch size"),
            "in_h": u16(op, inp.shape[1], "input height"),
            "in_w": u16(op, inp.shape[2], "input width"),
            "channels": u16(op, tiling.channels, "channels"),
            "out_h": u16(op, out.shape[1], "output height"),
            "out_w": u16(op, out.shape[2], "output width"),
            "columns": u16(op, tiling.columns, "width of a strip"),
            "group_strips": tiling.group,
            "pass_count": tiling.pass_count(tiling.group),
            "last_pass_count": tiling.pass_count(tiling.last_group),
            "pad_top": top,
            "pad_left": left,
            "stride": tiling.stride,
            "two_sided": int(rounding.two_sided),
            "input_zero": inp.zero_point,
            "act_min": low,
            "act_max": high,
        }
        return KernelCall(
            "ar_depthwise_tiles_s8_mve",
            "depthwise_tiles_s8_mve.h",
            self.kernels,
            "ar_depthwise_tiles_params",
            fields,
        )


def _has_padding_rows(graph: Subgraph, op: Op) -> bool:
    """Return whether a window begins above the image or ends below it."""
    view = view_convolution(graph, op)
    (top, _), stride = view.padding, view.stride[0]
    return top > 0 or stride * (view.output.shape[1] - 1) + 3 - top > view.input.shape[1]
