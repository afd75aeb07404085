"""The proven requantization in the form that the fast kernels of cores without SIMD take."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.firmware.generator.lower.core.lowering import LowerContext
from arenite.firmware.generator.requant.folded_layer import FoldedLayer

#: Left shift of the accumulator in ``ar_affine_s8``.
SCALE = 8
#: The range of a two-sided offset: one less is stored in eight bits.
_OFFSETS = (1, 256)
#: The counts that one byte holds: quads that fit, and quads that do not.
_MAX_FITTING, _MAX_OVERFLOWING = 31, 7


def has_offsets(folded: FoldedLayer) -> bool:
    """Whether ``ar_affine_s8`` can hold the offsets of every channel."""
    requant = folded.requant
    low, high = _OFFSETS
    return not requant.two_sided or bool(np.all((requant.offset >= low) & (requant.offset <= high)))


def scaled_bias(folded: FoldedLayer, constant: np.ndarray | int = 0) -> np.ndarray:
    """int32 [channels]: bias plus ``constant`` accumulator units, 256 times, with the offset; modulo 2**32."""
    requant = folded.requant
    offset = requant.offset.astype(np.int64) - (1 if requant.two_sided else 0)
    scaled = ((folded.bias + constant) << SCALE) + offset
    return (scaled & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


def sums_fit(weights: np.ndarray) -> np.ndarray:
    """Whether sums of products with any int8 stay in 16 bits; over the last axis of int64 ``weights``."""
    positive, negative = np.maximum(weights, 0).sum(axis=-1), np.maximum(-weights, 0).sum(axis=-1)
    value: np.ndarray = (127 * positive + 128 * negative <= 32767) & (
        128 * positive + 127 * negative <= 32768
    )
    return value


def count_runs(fits: np.ndarray) -> list[int]:
    """Bytes: how many in turn fit (five bits) and how many after them do not (three), up to the last."""
    runs: list[int] = []
    at = 0
    while at < len(fits):
        counts = []
        for fitting, limit in ((True, _MAX_FITTING), (False, _MAX_OVERFLOWING)):
            length = 0
            while length < limit and at + length < len(fits) and bool(fits[at + length]) == fitting:
                length += 1
            counts.append(length)
            at += length
        runs.append(counts[0] | counts[1] << 5)
    return runs


def requant_fields(
    ctx: LowerContext, folded: FoldedLayer, bias: np.ndarray, pad_to: int = 1
) -> dict[str, Any]:
    """``bias``, ``multiplier``, ``requant`` and the activation; arrays are filled up to a multiple of ``pad_to``."""
    more = (0, -len(bias) % pad_to)
    requant = folded.requant
    return {
        "bias": ctx.weights(np.pad(bias, more), "bias"),
        "multiplier": ctx.table(np.pad(requant.multiplier, more), "multiplier"),
        "requant": {
            "shift": requant.shift,
            "two_sided": int(requant.two_sided),
            "zero_point": folded.output_zero_point,
        },
        "act_min": folded.act_range[0],
        "act_max": folded.act_range[1],
    }
