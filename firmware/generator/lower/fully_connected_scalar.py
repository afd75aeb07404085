"""FULLY_CONNECTED on cores without SIMD: two units in each multiplication, see ``fully_connected_s8_scalar.c``."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from arenite.converters.graph import Op, Subgraph
from arenite.firmware.generator.folded import Folded, fold_fully_connected
from arenite.firmware.generator.lower.base import KernelCall, LowerContext
from arenite.firmware.generator.lower.scalar_fields import (
    SCALE,
    count_runs,
    has_offsets,
    requant_fields,
    scaled_bias,
    sums_fit,
)
from arenite.firmware.generator.lower.variant import Variant, variant
from arenite.firmware.generator.target import Target

#: Inputs of an octet, of two, and how many of them are summed at once, by preference.
_OCTET, _PAIR = 8, 16
_PARTS = (8, 4, 2)
#: Units whose weights share a word, and units that share their runs.
_UNITS, _TOGETHER = 4, 8
#: Fewest products for which the kernel is worth its place.
_WORTHWHILE = 1024
#: Bytes of scratch for an octet: two start values and eight int16.
_OCTET_BYTES = 24


def pack_weights(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """``weights`` (uint32) and ``runs`` of the kernel from int64 [units][depth]; None where two do not always fit."""
    units, depth = weights.shape
    whole = np.pad(weights, ((0, -units % _UNITS), (0, -depth % _OCTET)))
    fits = [sums_fit(whole.reshape(len(whole), -1, _OCTET // n, n)).all(axis=2) for n in _PARTS]
    if not fits[-1].all():
        return None
    # The largest part that fits all units that share their runs: 0, 1 or 2, an index into _PARTS.
    each = _together(np.stack(fits).argmax(axis=0)).max(axis=1)
    longer = np.pad(whole, ((0, 0), (0, _OCTET)))
    neighbours = sums_fit(sliding_window_view(longer, _PAIR, axis=1)[:, ::_OCTET])
    neighbours[:, -1] = False  # the last octet has none
    paired = _together(~neighbours).max(axis=1) == 0
    runs = [n for k, p in zip(each, paired, strict=True) for n in count_runs(_kinds(k, p), len(_PARTS) + 1)]
    biased = (whole[:, :depth] + 128).reshape(-1, _UNITS, depth).transpose(0, 2, 1)
    words = np.ascontiguousarray(biased).astype(np.uint8).reshape(-1).view(np.uint32)
    return np.pad(words, (0, -depth % _OCTET)), np.array(runs, np.uint8)


def _together(values: np.ndarray) -> np.ndarray:
    """[units][octets] as [groups][_TOGETHER][octets], filled up with zeros."""
    filled = np.pad(values, ((0, -len(values) % _TOGETHER), (0, 0)))
    return filled.reshape(-1, _TOGETHER, values.shape[1])


def _kinds(parts: np.ndarray, paired: np.ndarray) -> np.ndarray:
    """What the kernel does in turn: 0 for an octet and its neighbour at once, else 1 plus the octet's part."""
    kinds, at = [], 0
    while at < len(parts):
        kinds.append(0 if paired[at] else 1 + int(parts[at]))
        at += 2 if paired[at] else 1
    return np.array(kinds)


@variant
class FullyConnectedScalar(Variant):
    op_name = "FULLY_CONNECTED"
    tiers = ("scalar", "dsp", "mve")
    priority = 100
    kernels = ("affine_requant.c", "fully_connected_s8_scalar.c")

    def _folded(self, graph: Subgraph, op: Op) -> Folded | None:
        folded = fold_fully_connected(graph, op, SCALE)
        return folded if folded is not None and has_offsets(folded) else None

    def suits(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        if inp.dtype != "int8" or w.data is None:
            return False
        # A small layer gains nothing for the code that the kernel takes; units that fill up a word take flash.
        if w.elements < _WORTHWHILE or (w.shape[0] % _UNITS and target.optimise != "speed"):
            return False
        folded = self._folded(graph, op)
        return folded is not None and pack_weights(folded.weights) is not None

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        return _OCTET_BYTES * -(-graph.tensors[op.inputs[1]].shape[1] // _OCTET)

    def lower(self, ctx: LowerContext) -> KernelCall:
        folded, w, out = self._folded(ctx.graph, ctx.op), ctx.input(1), ctx.output()
        assert folded is not None and w is not None
        packed = pack_weights(folded.weights)
        assert packed is not None
        units, depth = w.shape
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "weights": ctx.weights(packed[0], "weights"),
            "runs": ctx.table(packed[1], "runs"),
            **requant_fields(ctx, folded, scaled_bias(folded)),
            "scratch": ctx.scratch_ptr(),
            "batches": out.elements // units,
            "depth": depth,
            "units": units,
        }
        return KernelCall(
            "ar_fully_connected_s8_scalar",
            "fully_connected_scalar.h",
            ("fully_connected_s8_scalar.c", "affine_requant.c"),
            "ar_fully_connected_scalar_params",
            fields,
        )
