"""Lower DEPTHWISE_CONV_2D with one output per input channel and any window for Helium."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.conv.gemm_layout_mve import DoubleRounding, folded_bias, requantization
from arenite.firmware.generator.lower.core.lowering import (
    NULL,
    Expr,
    KernelCall,
    LowerContext,
    require_accepted,
    u16,
)
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.target import MVE, Target

#: The number of channels in a block, and the order in which its 32-bit values are stored: see depthwise_s8_mve.h.
BLOCK = 16
_LANES = np.array([0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15])
#: The largest height of a filter: AR_DEPTHWISE_MVE_ROWS.
_MAX_ROWS = 32
#: The bytes of scratch for a block of the remaining channels: AR_DEPTHWISE_MVE_BLOCK words.
_BLOCK_BYTES = 208
#: Bytes of an address, also on a 64-bit computer.
_ADDRESS = 8


def blocks(values: np.ndarray) -> np.ndarray:
    """Return ``values``, [channels, …], divided into blocks: [blocks, 16, …], with zeros after the last channel."""
    missing = -len(values) % BLOCK
    padded = np.concatenate([values, np.zeros((missing, *values.shape[1:]), values.dtype)])
    return padded.reshape(-1, BLOCK, *values.shape[1:])


def pack_weights(filters: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Return int32 words [blocks, …]: 16 biases, then the taps. ``filters`` is int8 [channels, taps], ``bias`` int32
    [channels]."""
    start = blocks(bias.astype("<i4"))[:, _LANES]
    taps = np.ascontiguousarray(blocks(filters.astype(np.int8)).transpose(0, 2, 1))
    words = taps.reshape(len(start), -1).view("<i4")
    return np.concatenate([start, words], axis=1).astype(np.int32)


def pack_scales(rounding: DoubleRounding) -> np.ndarray:
    """Return 16 multipliers and 16 one-byte shifts per block, as int32 words."""
    multiplier = blocks(rounding.multiplier.astype("<i4"))[:, _LANES]
    shift = np.ascontiguousarray(blocks(rounding.shift)[:, _LANES]).view("<i4")
    return np.concatenate([multiplier, shift], axis=1).astype(np.int32).reshape(-1)


def sums_fit(filters: np.ndarray) -> bool:
    """Return whether the sum of the products of two neighboring taps always fits into int16. It does not if both
    weights are -128."""
    low = filters == -128
    count = filters.shape[1] // 2 * 2
    return not np.any(low[:, 0:count:2] & low[:, 1:count:2])


class _Depthwise(Variant):
    """The base class of both kernels."""

    tiers = (MVE,)
    priority = 200
    op_name = "DEPTHWISE_CONV_2D"

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
        if inp.dtype != "int8" or w.data is None or inp.shape[3] != out.shape[3] or w.shape[1] > _MAX_ROWS:
            return False
        return sums_fit(taps_of(w.data)) and requantization(graph, op) is not None

    def fields(self, ctx: LowerContext, repeat: int = 1, rest: int = 0) -> dict[str, Any]:
        """Return all fields of ``ar_depthwise_mve_params`` except its scratch. A block holds the constants of all
        channels ``repeat`` times, for ``repeat`` neighboring pixels. The last ``rest`` channels are in no block."""
        op, view = ctx.op, view_convolution(ctx.graph, ctx.op)
        inp, out = view.input, view.output
        rounding = require_accepted(requantization(ctx.graph, op))
        filters = taps_of(view.filters)
        sums = folded_bias(filters, view.bias_values, inp.zero_point)
        tiled = DoubleRounding(
            np.tile(rounding.multiplier, repeat), np.tile(rounding.shift, repeat), rounding.two_sided
        )
        channels = view.weights.shape[3]
        (k_h, k_w), (top, left), (low, high) = view.kernel, view.padding, view.activation_range
        return {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "weights": self.blocks_of(ctx, filters[: channels - rest], sums[: channels - rest], repeat),
            "scales": ctx.table(pack_scales(tiled), "scales"),
            "batches": u16(op, inp.shape[0], "batch size"),
            "channels": u16(op, channels, "channels"),
            **axis_fields(op, "h", inp.shape[1], out.shape[1], k_h, top),
            **axis_fields(op, "w", inp.shape[2], out.shape[2], k_w, left),
            "output_zero": out.zero_point,
            "input_zero": inp.zero_point,
            "act_min": low,
            "act_max": high,
            "two_sided": int(rounding.two_sided),
            "pixels_per_block": repeat,
            "rest_channels": rest,
            "rest_bias": ctx.weights(sums[channels - rest :], "rest_bias") if rest else NULL,
            "rest_taps": ctx.weights(filters[channels - rest :].T, "rest_taps") if rest else NULL,
        }

    @staticmethod
    def blocks_of(ctx: LowerContext, filters: np.ndarray, sums: np.ndarray, repeat: int) -> Expr:
        """Put the weights of all blocks into flash and return their address; ``NULL`` if there are no blocks."""
        if not len(filters):
            return NULL
        return ctx.weights(pack_weights(np.tile(filters, (repeat, 1)), np.tile(sums, repeat)), "weights")


def axis_fields(op: Op, axis: str, size: int, out: int, kernel: int, padding: int) -> dict[str, int]:
    """Return the fields of one spatial axis, "h" or "w"."""
    return {
        f"in_{axis}": u16(op, size, "input size"),
        f"out_{axis}": u16(op, out, "output size"),
        f"k_{axis}": u16(op, kernel, "kernel size"),
        f"pad_{'top' if axis == 'h' else 'left'}": u16(op, padding, "padding"),
        f"stride_{axis}": op.options[f"stride_{axis}"],
        f"dilation_{axis}": op.options[f"dilation_{axis}_factor"],
    }


#: Fields to exchange when a column is treated as a row.
_AXES = (
    ("in_h", "in_w"),
    ("out_h", "out_w"),
    ("k_h", "k_w"),
    ("pad_top", "pad_left"),
    ("stride_h", "stride_w"),
)
_DILATIONS = ("dilation_h", "dilation_w")


def swap_axes(fields: dict[str, Any]) -> dict[str, Any]:
    """Return ``fields`` with an image one pixel wide turned into one row. The bytes are the same, and the outputs of a
    row share their set-up."""
    if fields["in_w"] != 1 or fields["k_w"] != 1 or fields["out_w"] != 1:
        return fields
    swapped = dict(fields)
    for a, b in (*_AXES, _DILATIONS):
        swapped[a], swapped[b] = fields[b], fields[a]
    return swapped


def taps_of(weights: np.ndarray) -> np.ndarray:
    """Return ``weights``, [1, k_h, k_w, channels], as [channels, taps]."""
    return weights.reshape(-1, weights.shape[3]).T


@variant
class DepthwiseMve(_Depthwise):
    compact = True
    kernels = ("depthwise_conv_2d_s8_mve.c", "depthwise_window_s8_mve.c")
    row_function = "ar_depthwise_conv_2d_s8_mve_row"

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        # An incomplete block of channels costs flash for padded weights, so it is used only in builds for speed, and in
        # builds for small flash, where it takes less than another kernel.
        has_full_blocks = graph.tensors[op.outputs[0]].shape[3] % BLOCK == 0
        return (has_full_blocks or target.optimise in ("speed", "flash")) and super().can_run(
            graph, op, target
        )

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        """Return the bytes of the addresses of a window's taps, and of one pixel of padding, filled up because the
        kernel reads complete blocks."""
        _, k_h, k_w, channels = graph.tensors[op.inputs[1]].shape
        return k_h * k_w * _ADDRESS + channels + BLOCK - 1

    def lower(self, ctx: LowerContext) -> KernelCall:
        w = ctx.input_tensor(1)
        fields = swap_axes(self.fields(ctx)) | {
            "taps": ctx.scratch_ptr(),
            "padding": ctx.scratch_ptr(w.shape[1] * w.shape[2] * _ADDRESS),
            "rest_block": NULL,
        }
        return KernelCall(
            "ar_depthwise_conv_2d_s8_mve",
            "depthwise_s8_mve.h",
            self.kernels,
            "ar_depthwise_mve_params",
            fields,
        )


@variant
class Depthwise3x3Mve(_Depthwise):
    priority = 210
    compact = True
    kernels = ("depthwise_3x3_run_s8_mve.c", "depthwise_3x3_s8_mve.c")
    row_function = "ar_depthwise_3x3_s8_mve_row"

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        return graph.tensors[op.inputs[1]].shape[1:3] == (3, 3) and super().can_run(graph, op, target)

    def rest_channels(self, graph: Subgraph, op: Op, target: Target) -> int:
        """Return the number of last channels that the kernel puts into a block at run time, because a stored block that
        is filled up with zeros takes flash."""
        return 0 if target.optimise == "speed" else graph.tensors[op.outputs[0]].shape[3] % BLOCK

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        """Return the bytes of the block of the remaining channels, and of one row of padding, filled up because the
        kernel reads complete blocks."""
        inp = graph.tensors[op.inputs[0]]
        block = _BLOCK_BYTES if self.rest_channels(graph, op, target) else 0
        return block + inp.shape[2] * inp.shape[3] + BLOCK - 1

    def lower(self, ctx: LowerContext) -> KernelCall:
        channels = ctx.output().shape[3]
        # With few channels, one block computes several neighboring pixels.
        seamless = ctx.op.options["stride_w"] == 1 and channels < BLOCK and BLOCK % channels == 0
        rest = self.rest_channels(ctx.graph, ctx.op, ctx.target)
        fields = self.fields(ctx, BLOCK // channels if seamless else 1, rest) | {
            "taps": NULL,
            "padding": ctx.scratch_ptr(_BLOCK_BYTES if rest else 0),
            "rest_block": ctx.scratch_ptr() if rest else NULL,
        }
        return KernelCall(
            "ar_depthwise_3x3_s8_mve", "depthwise_s8_mve.h", self.kernels, "ar_depthwise_mve_params", fields
        )
