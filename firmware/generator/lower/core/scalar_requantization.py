"""Store a requantization that is proven exact in the form that the fast kernels without SIMD use."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from arenite.firmware.generator.lower.core.lowering import LowerContext
from arenite.firmware.generator.requant.folded_layer import FoldedLayer

#: Left shift of the accumulator in ``ar_affine_s8``.
SCALE = 8
#: The range of a two-sided offset. The kernel stores the offset minus one in eight bits.
_OFFSETS = (1, 256)
#: The largest counts in one byte of ``count_runs``: of quads of taps whose sums fit into 16 bits, and of other quads.
_MAX_FITTING, _MAX_OVERFLOWING = 31, 7


def has_offsets(folded: FoldedLayer) -> bool:
    """Return whether ``ar_affine_s8`` can hold the offsets of every channel."""
    requant = folded.requant
    low, high = _OFFSETS
    return not requant.two_sided or bool(np.all((requant.offset >= low) & (requant.offset <= high)))


def scaled_bias(folded: FoldedLayer, constant: np.ndarray | int = 0) -> np.ndarray:
    """Return int32 [channels]: 256 * (bias + ``constant``) with the offset added, modulo 2**32."""
    requant = folded.requant
    offset = requant.offset.astype(np.int64) - (1 if requant.two_sided else 0)
    scaled = ((folded.bias + constant) << SCALE) + offset
    return (scaled & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


def sums_fit(weights: np.ndarray) -> np.ndarray:
    """Return whether the sum of products of weights with any int8 inputs stays in 16 bits.

    The sum is over the last axis of int64 ``weights``; the result is bool with the other axes.
    """
    positive, negative = np.maximum(weights, 0).sum(axis=-1), np.maximum(-weights, 0).sum(axis=-1)
    return cast(
        np.ndarray,
        (127 * positive + 128 * negative <= 32767) & (128 * positive + 127 * negative <= 32768),
    )


def count_runs(fits: np.ndarray) -> list[int]:
    """Return run lengths as bytes: the number of quads that fit (low five bits), then the number of following quads
    that do not fit (high three bits). ``fits`` has one bool per quad."""
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
    """Return the fields ``bias``, ``multiplier``, ``requant``, ``act_min`` and ``act_max``. Arrays are padded to a
    multiple of ``pad_to`` channels."""
    padding = (0, -len(bias) % pad_to)
    requant = folded.requant
    return {
        "bias": ctx.weights(np.pad(bias, padding), "bias"),
        "multiplier": ctx.table(np.pad(requant.multiplier, padding), "multiplier"),
        "requant": {
            "shift": requant.shift,
            "two_sided": int(requant.two_sided),
            "zero_point": folded.output_zero_point,
        },
        "act_min": folded.act_range[0],
        "act_max": folded.act_range[1],
    }
