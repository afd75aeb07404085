"""Lower int8 FULLY_CONNECTED on cores with the DSP extension, and CONV_2D with one output pixel, which computes the
same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.channel_pairs import (
    TapOrder,
    pack_quads,
    packable,
    pair_words,
    quad_requant,
    quads_of,
    rotated_biases,
    rotated_requant,
    row_order,
    tap_order,
)
from arenite.firmware.generator.lower.conv.conv_2d_dsp import SOURCES, dsp_call, scratch_bytes, shape_of
from arenite.firmware.generator.lower.conv.pair_requantization import pair_requantization
from arenite.firmware.generator.lower.core.lowering import NULL, KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.requant.fixed_shift import FixedShift, fix_shift
from arenite.firmware.generator.requant.folded_layer import (
    FoldedLayer,
    fold_convolution,
    fold_fully_connected,
)
from arenite.firmware.generator.requant.rotated_offset import rotate_offsets
from arenite.firmware.generator.target import DSP, Target

ROW_SOURCES = ("fully_connected_s8_dsp.c", "row_dot4_s8_dsp.c")
FIXED_SOURCES = ("fully_connected_s8_fixed_dsp.c", "row_dot4_fixed_s8_dsp.c")
_MAX_UINT16 = (1 << 16) - 1
#: AR_ROW_SHIFT in row_dot_s8_dsp.h: the constant shift of a kernel.
_ROW_SHIFT = 8
#: The number of units from which the kernel with a constant shift is worth its code.
_MIN_FIXED_UNITS = 64


@variant
class FullyConnectedDsp(Variant):
    """FULLY_CONNECTED of one input row, with single rounding. The filters are stored in quads (see ``pack_quads``)."""

    op_name = "FULLY_CONNECTED"
    tiers = (DSP,)
    priority = 210
    kernels: ClassVar[tuple[str, ...]] = ROW_SOURCES

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        return _rows(graph, op) == 1 and can_run_row(_folded(graph, op), self.weights_fit)

    def weights_fit(self, folded: FoldedLayer) -> bool:
        """Return whether the weights fit the kernel's layout."""
        return packable(folded)

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        return row_scratch(_depth(graph, op))

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        """Return (0, 0), because the input row is widened before any output is written."""
        return ((0, 0),)

    def lower(self, ctx: LowerContext) -> KernelCall:
        folded = require_accepted(_folded(ctx.graph, ctx.op))
        return self.call(ctx, folded)

    def call(self, ctx: LowerContext, folded: FoldedLayer) -> KernelCall:
        return row_call(ctx, folded)


@variant
class FullyConnectedFixedDsp(FullyConnectedDsp):
    """The same with a constant shift of the requantization and a longer loop, in builds for speed."""

    priority = 215
    kernels: ClassVar[tuple[str, ...]] = FIXED_SOURCES

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if target.optimise != "speed" or _units(graph, op) < _MIN_FIXED_UNITS:
            return False
        if not super().can_run(graph, op, target):
            return False
        return _row_shift(require_accepted(_folded(graph, op))) is not None

    def call(self, ctx: LowerContext, folded: FoldedLayer) -> KernelCall:
        fixed = require_accepted(_row_shift(folded))
        words = pair_words(folded, row_order(folded.weights[0].size))
        filters = quads_of(rotated_biases(fixed.bias), words, rotated_requant(fixed.multiplier))
        return KernelCall(
            "ar_fully_connected_s8_fixed_dsp",
            "fully_connected_s8_dsp.h",
            FIXED_SOURCES,
            "ar_fully_connected_dsp_params",
            row_fields(ctx, folded, filters, None) | {"rounding": fixed.rounding, "shift": _ROW_SHIFT},
        )


@variant
class FullyConnectedRowsDsp(Variant):
    """FULLY_CONNECTED of several input rows, computed as pixels of a convolution with one tap."""

    op_name = "FULLY_CONNECTED"
    tiers = (DSP,)
    priority = 200
    kernels: ClassVar[tuple[str, ...]] = SOURCES

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        folded = _folded(graph, op)
        sizes = (_rows(graph, op), _depth(graph, op), _units(graph, op))
        if folded is None or not self.weights_fit(folded) or max(sizes) > _MAX_UINT16:
            return False
        return pair_requantization(folded) is not None

    def weights_fit(self, folded: FoldedLayer) -> bool:
        """Return whether the weights fit the kernel's layout."""
        return packable(folded)

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        shape = _pixels(graph, op)
        return scratch_bytes(tap_order(1, 1, shape["in_c"], 1), shape)

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        return ((0, 0),) if _units(graph, op) <= _depth(graph, op) else ()

    def lower(self, ctx: LowerContext) -> KernelCall:
        folded, shape = require_accepted(_folded(ctx.graph, ctx.op)), _pixels(ctx.graph, ctx.op)
        return self.call(ctx, folded, tap_order(1, 1, shape["in_c"], 1), shape)

    def call(
        self, ctx: LowerContext, folded: FoldedLayer, taps: TapOrder, shape: dict[str, int]
    ) -> KernelCall:
        return dsp_call(ctx, folded, taps, shape)


@variant
class Conv2DPixelDsp(Variant):
    """CONV_2D whose only window is the complete image, so the kernel reads the inputs in their order in memory."""

    op_name = "CONV_2D"
    tiers = (DSP,)
    priority = 210
    kernels: ClassVar[tuple[str, ...]] = ROW_SOURCES

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
        if inp.dtype != "int8" or w.data is None or inp.shape[0] != 1 or out.shape[1:3] != (1, 1):
            return False
        shape = shape_of(graph, op)
        if w.shape[1:] != inp.shape[1:] or shape["pad_top"] or shape["pad_left"]:
            return False
        if shape["dilation_h"] > 1 or shape["dilation_w"] > 1:
            return False
        return can_run_row(fold_convolution(graph, op, axis=0), self.weights_fit)

    def weights_fit(self, folded: FoldedLayer) -> bool:
        """Return whether the weights fit the kernel's layout."""
        return packable(folded)

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        return row_scratch(graph.tensors[op.inputs[0]].elements)

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    def lower(self, ctx: LowerContext) -> KernelCall:
        folded = require_accepted(fold_convolution(ctx.graph, ctx.op, axis=0))
        return self.call(ctx, folded)

    def call(self, ctx: LowerContext, folded: FoldedLayer) -> KernelCall:
        return row_call(ctx, folded)


def can_run_row(folded: FoldedLayer | None, weights_fit: Callable[[FoldedLayer], bool]) -> bool:
    """Return whether the kernel for one row can run the layer. ``weights_fit`` checks its weights."""
    if folded is None or folded.requant.two_sided or not weights_fit(folded):
        return False
    return bool(max(folded.weights[0].size, len(folded.weights)) <= _MAX_UINT16)


def _row_shift(folded: FoldedLayer) -> FixedShift | None:
    """Return the requantization with the constant shift; None if it is not proven exact."""
    fixed = fix_shift(folded, 0, _ROW_SHIFT)
    odd_channels = np.arange(1, len(folded.bias), 2)
    return None if fixed is None else rotate_offsets(folded, fixed, 0, _ROW_SHIFT, odd_channels)


def row_scratch(depth: int) -> int:
    """Return the bytes of the widened row."""
    return 2 * len(row_order(depth))


def row_call(ctx: LowerContext, folded: FoldedLayer) -> KernelCall:
    """Return the call of ``ar_fully_connected_s8_dsp`` for one row."""
    filters = pack_quads(folded, row_order(folded.weights[0].size))
    return KernelCall(
        "ar_fully_connected_s8_dsp",
        "fully_connected_s8_dsp.h",
        ROW_SOURCES,
        "ar_fully_connected_dsp_params",
        row_fields(ctx, folded, filters, quad_requant(folded)),
    )


def row_fields(
    ctx: LowerContext, folded: FoldedLayer, filters: np.ndarray, requant: np.ndarray | None
) -> dict[str, Any]:
    """Return all fields of ``ar_fully_connected_dsp_params``. ``requant`` is None if the filters have all constants."""
    depth = folded.weights[0].size
    return {
        "input": ctx.input_ptr(0),
        "output": ctx.output_ptr(),
        "filters": ctx.weights(filters, "filters"),
        "requant": NULL if requant is None else ctx.table(requant, "requant"),
        "scratch": ctx.scratch_ptr(),
        "rounding": folded.requant.rounding,
        "depth": depth,
        "units": len(folded.weights),
        "groups": len(row_order(depth)) // 8,
        "shift": folded.requant.shift,
        "act_min": folded.act_range[0],
        "act_max": folded.act_range[1],
    }


def _folded(graph: Subgraph, op: Op) -> FoldedLayer | None:
    inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
    return fold_fully_connected(graph, op) if inp.dtype == "int8" and w.data is not None else None


def _pixels(graph: Subgraph, op: Op) -> dict[str, int]:
    """Return the fields of ``conv_2d_dsp.shape_of`` for an image of one row whose pixels are the input rows."""
    rows, depth, units = _rows(graph, op), _depth(graph, op), _units(graph, op)
    shape = {"batches": 1, "in_h": 1, "in_w": rows, "in_c": depth, "out_h": 1, "out_w": rows, "out_c": units}
    shape |= {"pad_top": 0, "pad_left": 0, "k_h": 1}
    return shape | {"stride_h": 1, "stride_w": 1, "dilation_h": 1, "dilation_w": 1}


def _depth(graph: Subgraph, op: Op) -> int:
    return graph.tensors[op.inputs[1]].shape[1]


def _units(graph: Subgraph, op: Op) -> int:
    return graph.tensors[op.inputs[1]].shape[0]


def _rows(graph: Subgraph, op: Op) -> int:
    return graph.tensors[op.outputs[0]].elements // _units(graph, op)
