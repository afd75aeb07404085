"""Lower FULLY_CONNECTED to a kernel without SIMD instructions, ``fully_connected_s8_scalar.c``, in which each
multiplication computes two units."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.scalar_requantization import (
    SCALE,
    has_offsets,
    requant_fields,
    scaled_bias,
    sums_fit,
)
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.requant.folded_layer import FoldedLayer, fold_fully_connected
from arenite.firmware.generator.target import Target

#: The number of inputs in a quad.
QUAD = 4
#: The number of products of inputs and weights whose sum must always fit into 16 bits.
_MIN_RUN = 2
#: The number of units whose weights share a word.
_UNITS = 4
#: The largest number of quads in one sum, because one byte stores it.
_MAX_RUN = 255
#: The smallest number of products for which the kernel saves more than its code costs.
MIN_MACS = 1024
#: Bytes of scratch for a quad: two sums and four int16 values.
_QUAD_BYTES = 16


def words(core: str) -> int:
    """Return the number of words of weights that the kernel computes together on this core: ``WORDS`` of the kernel."""
    return 1 if core.startswith(("cortex-", "xtensa", "wasm")) else 2


def pack_weights(weights: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return (weights, uint32; ``runs``, uint8) in the kernel's layout. ``weights`` is int64 [units][depth].

    ``runs`` has the lengths of the kernel's 16-bit sums (``short_sums``). ``count`` is the number of words that are
    computed together. Returns None if the sum of two products does not always fit into 16 bits.
    """
    units, depth = weights.shape
    padded = np.pad(weights, ((0, -units % _UNITS), (0, -depth % QUAD)))
    if not sums_fit(padded.reshape(len(padded), -1, _MIN_RUN)).all():
        return None
    runs = short_sums(padded, _UNITS * count)
    biased = (padded[:, :depth] + 128).reshape(-1, _UNITS, depth).transpose(0, 2, 1)
    packed = np.ascontiguousarray(biased).astype(np.uint8).reshape(-1).view(np.uint32)
    return np.pad(packed, (0, -depth % QUAD)), runs


def short_sums(weights: np.ndarray, together: int) -> np.ndarray:
    """Return the lengths of the 16-bit sums, in quads, uint8. ``weights`` is int64 [units][quads * 4].

    Groups of ``together`` units have the same lengths. Each sum has as many quads as fit into 16 bits for all units of
    the group; 0 stands for a quad that does not fit.
    """
    groups = (weights[at : at + together] for at in range(0, len(weights), together))
    return np.array([n for group in groups for n in _runs(group)], np.uint8)


def _runs(weights: np.ndarray) -> list[int]:
    """Return ``short_sums`` of one group of units, int64 [units][quads * 4]."""
    count = weights.shape[1] // QUAD
    runs, at = [], 0
    while at < count:
        n = 0
        while n < min(count - at, _MAX_RUN) and sums_fit(weights[:, QUAD * at : QUAD * (at + n + 1)]).all():
            n += 1
        runs.append(n)
        at += max(n, 1)
    return runs


def fold_if_exact(graph: Subgraph, op: Op) -> FoldedLayer | None:
    """Return the layer with its zero points and scales folded; None if that is not exact."""
    folded = fold_fully_connected(graph, op, SCALE)
    return folded if folded is not None and has_offsets(folded) else None


@variant
class FullyConnectedScalar(Variant):
    op_name = "FULLY_CONNECTED"
    tiers = ("scalar", "dsp", "mve", "simd128")
    priority = 100
    kernels = ("affine_requant.c", "fully_connected_s8_scalar.c")

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        # In a build for small RAM, inputs that are widened to four times their size need too much RAM.
        if inp.dtype != "int8" or w.data is None or target.optimise == "ram":
            return False
        # A small layer gains too little for the kernel's code. Units of zeros that fill up a word take flash.
        if w.elements < MIN_MACS or (w.shape[0] % _UNITS and target.optimise != "speed"):
            return False
        folded = fold_if_exact(graph, op)
        return folded is not None and pack_weights(folded.weights, words(target.core)) is not None

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        return _QUAD_BYTES * (-(-graph.tensors[op.inputs[1]].shape[1] // QUAD) + 1)

    def lower(self, ctx: LowerContext) -> KernelCall:
        folded, w, out = require_accepted(fold_if_exact(ctx.graph, ctx.op)), ctx.input_tensor(1), ctx.output()
        count = words(ctx.target.core)
        packed = require_accepted(pack_weights(folded.weights, count))
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
            "words": count,
        }
        return KernelCall(
            "ar_fully_connected_s8_scalar",
            "fully_connected_scalar.h",
            ("fully_connected_s8_scalar.c", "affine_requant.c"),
            "ar_fully_connected_scalar_params",
            fields,
        )
