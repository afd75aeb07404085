"""Lower int8 CONV_2D on cores with the DSP extension, and DEPTHWISE_CONV_2D of one input channel, which computes the
same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.channel_pairs import (
    TapOrder,
    packable,
    pair_words,
    tap_order,
)
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.conv.pair_requantization import pair_requantization
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.requant.folded_layer import FoldedLayer, fold_convolution
from arenite.firmware.generator.target import DSP, Target

#: The largest height of a filter: AR_CONV_DSP_ROWS in conv_2d_dsp_params.h.
MAX_ROWS = 16
#: The number of neighboring pixels that the fastest kernel computes together.
_BLOCK = 3
#: If the rows under a row of windows need padding and have at most this number of bytes, they are copied completely.
_SMALL_ROWS = 256
SOURCES = (
    "conv_2d_s8_dsp.c",
    "dot2_s8_dsp.c",
    "dot3_s8_dsp.c",
    "expand2_s8_dsp.c",
    "expand3_s8_dsp.c",
)


class ConvolutionDsp(Variant):
    """The base class of convolutions whose filters cover all input channels. ``axis`` is the axis of the output
    channels in the weights."""

    tiers = (DSP,)
    kernels: ClassVar[tuple[str, ...]] = SOURCES
    row_function = "ar_conv_2d_s8_dsp_row"
    axis: ClassVar[int]

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
        channels = w.shape[3] if self.axis == 0 else 1
        if inp.dtype != "int8" or w.data is None or inp.shape[3] != channels or w.shape[1] > MAX_ROWS:
            return False
        taps = filter_tap_order(graph, op)
        if max(*inp.shape, *out.shape, taps.groups) >= 1 << 16 or taps.runs > 255 or taps.run_width > 255:
            return False
        folded = self._folded(graph, op)
        return folded is not None and self.weights_fit(folded) and pair_requantization(folded) is not None

    def weights_fit(self, folded: FoldedLayer) -> bool:
        """Return whether the weights fit the kernel's layout."""
        return packable(folded)

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        return scratch_bytes(filter_tap_order(graph, op), shape_of(graph, op))

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        """Return (0, 0) for filters of one tap if the output has no more channels than the input: the kernel widens a
        block of pixels before it writes their outputs, which then do not reach beyond the block."""
        inp, out, w = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]], graph.tensors[op.inputs[1]]
        return ((0, 0),) if w.shape[1:3] == (1, 1) and out.shape[3] <= inp.shape[3] else ()

    def lower(self, ctx: LowerContext) -> KernelCall:
        folded = require_accepted(self._folded(ctx.graph, ctx.op))
        return self.call(ctx, folded, filter_tap_order(ctx.graph, ctx.op), shape_of(ctx.graph, ctx.op))

    def call(
        self, ctx: LowerContext, folded: FoldedLayer, taps: TapOrder, shape: dict[str, int]
    ) -> KernelCall:
        return dsp_call(ctx, folded, taps, shape)

    def _folded(self, graph: Subgraph, op: Op) -> FoldedLayer | None:
        return folded_pairs(graph, op, self.axis)


@variant
class Conv2DDsp(ConvolutionDsp):
    op_name = "CONV_2D"
    priority = 200
    axis = 0


def folded_pairs(graph: Subgraph, op: Op, axis: int) -> FoldedLayer | None:
    """Return the convolution with its weights as [out_c][k_h][k_w][in_c], or None if no requantization is proven exact.
    The requantization is two-sided only if no one-sided requantization is proven exact."""
    for two_sided in (False, True):
        folded = fold_convolution(graph, op, axis, two_sided=two_sided)
        if folded is None:
            return None
        if axis != 0:
            folded = replace(folded, weights=np.swapaxes(folded.weights, 0, axis))
        if pair_requantization(folded) is not None:
            return folded
    return None


def filter_tap_order(graph: Subgraph, op: Op) -> TapOrder:
    """Return the order in which the kernel reads the inputs of a window of the convolution."""
    _, k_h, k_w, _ = graph.tensors[op.inputs[1]].shape
    return tap_order(k_h, k_w, graph.tensors[op.inputs[0]].shape[3], op.options["dilation_w_factor"])


def shape_of(graph: Subgraph, op: Op) -> dict[str, int]:
    """Return the fields of ``ar_conv_2d_dsp_params`` for sizes, padding, strides and dilation."""
    view = view_convolution(graph, op)
    inp, out = view.input, view.output
    return {
        "batches": inp.shape[0],
        "in_h": inp.shape[1],
        "in_w": inp.shape[2],
        "in_c": inp.shape[3],
        "out_h": out.shape[1],
        "out_w": out.shape[2],
        "out_c": out.shape[3],
        "pad_top": view.padding[0],
        "pad_left": view.padding[1],
        "k_h": view.kernel[0],
        "stride_h": view.stride[0],
        "stride_w": view.stride[1],
        "dilation_h": view.dilation[0],
        "dilation_w": view.dilation[1],
    }


def needs_window(taps: TapOrder, shape: dict[str, int]) -> bool:
    """Return whether the kernel must copy windows before it reads them: a window reaches beyond the image's edge, or
    its last group reads bytes after the end of a row."""
    bottom = (shape["out_h"] - 1) * shape["stride_h"] + (shape["k_h"] - 1) * shape["dilation_h"] + 1
    right = _columns(taps, shape)
    return (
        shape["pad_top"] > 0
        or shape["pad_left"] > 0
        or bottom > shape["in_h"]
        or right > shape["in_w"]
        or _overhang(taps, shape) > 0
    )


def padded_columns(taps: TapOrder, shape: dict[str, int]) -> int:
    """Return the width of the rows that are copied with their padding; 0 if the kernel copies windows, or nothing."""
    columns = _columns(taps, shape)
    small = shape["k_h"] * (columns * shape["in_c"] + _overhang(taps, shape)) <= _SMALL_ROWS
    one_tap = shape["k_h"] * taps.runs * taps.run_width == 1
    return columns if small and not one_tap and needs_window(taps, shape) else 0


def scratch_bytes(taps: TapOrder, shape: dict[str, int]) -> int:
    """Return the bytes of the widened pixels of the largest block, and of the copied rows or the copied window of a
    block."""
    one_tap = shape["k_h"] * taps.runs * taps.run_width == 1
    seamless = one_tap and shape["stride_h"] == 1 and shape["stride_w"] == 1
    row = shape["batches"] * shape["out_h"] * shape["out_w"] if seamless else shape["out_w"]
    # A row of 4 pixels is computed as two blocks of 2.
    pixels = _BLOCK if row == _BLOCK or row > _BLOCK + 1 else 2
    nbytes = taps.groups * 8 * pixels
    if columns := padded_columns(taps, shape):
        nbytes += shape["k_h"] * (columns * shape["in_c"] + _overhang(taps, shape))
    elif needs_window(taps, shape):
        width = (pixels - 1) * shape["stride_w"] + taps.run_width
        nbytes += width * shape["in_c"] + _overhang(taps, shape)
    return nbytes


def dsp_call(ctx: LowerContext, folded: FoldedLayer, taps: TapOrder, shape: dict[str, int]) -> KernelCall:
    """Return the call of ``ar_conv_2d_s8_dsp`` for a layer with the fields ``shape`` (see ``shape_of``)."""
    words = pair_words(folded, taps.order)
    form = require_accepted(pair_requantization(folded))
    filters = np.concatenate([form.biases, words], axis=1)
    return KernelCall(
        "ar_conv_2d_s8_dsp",
        "conv_2d_s8_dsp.h",
        SOURCES,
        "ar_conv_2d_dsp_params",
        dsp_fields(ctx, folded, taps, shape, filters, form.requant),
    )


def dsp_fields(
    ctx: LowerContext,
    folded: FoldedLayer,
    taps: TapOrder,
    shape: dict[str, int],
    filters: np.ndarray,
    requant: np.ndarray,
) -> dict[str, Any]:
    """Return all fields of ``ar_conv_2d_dsp_params``."""
    form = require_accepted(pair_requantization(folded))
    return {
        "input": ctx.input_ptr(0),
        "output": ctx.output_ptr(),
        "filters": ctx.weights(filters, "filters"),
        "requant": ctx.table(requant, "requant"),
        "scratch": ctx.scratch_ptr(),
        "rounding": form.rounding,
        **shape,
        "groups": taps.groups,
        "run_groups": taps.run_groups,
        "padded_w": padded_columns(taps, shape),
        "runs": taps.runs,
        "run_width": taps.run_width,
        "rest": taps.rest,
        "shift": form.shift,
        "form": form.form,
        "zero_point": folded.input_zero_point,
        "act_min": folded.act_range[0],
        "act_max": folded.act_range[1],
    }


def _columns(taps: TapOrder, shape: dict[str, int]) -> int:
    """Return the number of columns under a row of windows, counted from the first tap of the first window. Minus the
    padding on the left, it is the column where the last window ends."""
    k_w = taps.runs * taps.run_width
    return (shape["out_w"] - 1) * shape["stride_w"] + (k_w - 1) * shape["dilation_w"] + 1


def _overhang(taps: TapOrder, shape: dict[str, int]) -> int:
    """Return the bytes that the last group of a run reads beyond the run."""
    return 4 * taps.run_groups + taps.rest - taps.run_width * shape["in_c"]
