"""Lower FULLY_CONNECTED on cores without SIMD instructions to ``fully_connected_s8_pairs_scalar.c``, which is faster
than the kernel of ``fully_connected_scalar.py`` but needs more flash."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.scalar_requantization import requant_fields, scaled_bias, sums_fit
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.lower.dense.fully_connected_scalar import (
    MIN_MACS,
    QUAD,
    fold_if_exact,
    short_sums,
)
from arenite.firmware.generator.target import Target

#: The number of units whose weights are interleaved (a word holds those of two units), and the number of products of
#: inputs and weights whose sum must always fit into 16 bits.
_UNITS, _MIN_RUN = 8, 2

#: The prefixes of the names of the cores for which the kernel is worth its flash. Cores with a multiply-accumulate
#: instruction gain too little, and Xtensa cores have too few registers.
_CORES = ("rv32", "cortex-m0", "cortex-m23")


def pack_pairs(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return (weights, uint32; ``runs``, uint8) in the kernel's layout. ``weights`` is int64 [units][depth].

    ``runs`` has the lengths of the kernel's 16-bit sums (``short_sums``). Returns None if the sum of two products does
    not always fit into 16 bits, or ``depth`` is not a multiple of four.
    """
    units, depth = weights.shape
    padded = np.pad(weights, ((0, -units % _UNITS), (0, 0)))
    if depth % QUAD or not sums_fit(padded.reshape(len(padded), -1, _MIN_RUN)).all():
        return None
    words = (padded[0::2] + (padded[1::2] << 16)) & 0xFFFFFFFF
    blocks = words.reshape(-1, _UNITS // 2, depth).transpose(0, 2, 1)
    return np.ascontiguousarray(blocks).astype(np.uint32).reshape(-1), short_sums(padded, _UNITS)


@variant
class FullyConnectedPairs(Variant):
    op_name = "FULLY_CONNECTED"
    tiers = ("scalar",)
    priority = 110
    kernels = ("affine_requant.c", "fully_connected_s8_pairs_scalar.c")

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        if not target.core.startswith(_CORES) or target.optimise != "speed":
            return False
        if inp.dtype != "int8" or w.data is None or w.elements < MIN_MACS or w.shape[1] % QUAD:
            return False
        folded = fold_if_exact(graph, op)
        return folded is not None and pack_pairs(folded.weights) is not None

    def lower(self, ctx: LowerContext) -> KernelCall:
        folded, w, out = require_accepted(fold_if_exact(ctx.graph, ctx.op)), ctx.input_tensor(1), ctx.output()
        packed = require_accepted(pack_pairs(folded.weights))
        units, depth = w.shape
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "weights": ctx.weights(packed[0], "weights"),
            "runs": ctx.table(packed[1], "runs"),
            **requant_fields(ctx, folded, scaled_bias(folded)),
            "batches": out.elements // units,
            "depth": depth,
            "units": units,
        }
        return KernelCall(
            "ar_fully_connected_s8_pairs_scalar",
            "fully_connected_pairs.h",
            ("fully_connected_s8_pairs_scalar.c", "affine_requant.c"),
            "ar_fully_connected_pairs_params",
            fields,
        )
