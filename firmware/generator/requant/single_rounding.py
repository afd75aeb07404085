"""Scale accumulators as LiteRT's FULLY_CONNECTED does: ``round(double(acc) * scale)``.

The device has no hardware for double. For int8 outputs, a 32-bit multiplier and one shift almost always give the same
value for every accumulator that can occur. This module proves it for each channel: an int8 output has at most 255
steps, so it compares the accumulator at which each step occurs. If no multiplier passes, and for int16 outputs, the
kernel computes the exact double result with integers (``ar_scale_real``).
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from arenite.converters.graph.quantized_arithmetic import quantize_multiplier

#: Multipliers to try, as differences from the nearest one. A slightly larger multiplier rounds ties of negative sums
#: away from zero.
_NUDGES = (0, 1, -1, 2, -2, 3, -3)
#: The number of channels that one proof handles. This limits its memory.
_BLOCK = 512


def reference_round(acc: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return ``round(acc * scale)`` in double precision, ties away from zero; the integers are float64."""
    product = np.asarray(acc, np.float64) * scale
    integer = np.trunc(product)
    return cast(np.ndarray, integer + np.where(np.abs(product - integer) >= 0.5, np.sign(product), 0.0))


def first_reaching(levels: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return the smallest accumulator whose scaled value is at least each level: int64 [channels, levels]."""
    scale = np.maximum(scales[:, None], 2.0**-60)
    guess = np.ceil((levels[None, :] - 0.5) / scale)
    # The error of the division is less than one unit, so the right value is the guess or a neighboring integer.
    tries = guess[:, :, None] + np.arange(-2.0, 3.0)
    reached = reference_round(tries, scale[:, :, None]) >= levels[None, :, None]
    first = guess + np.argmax(reached, axis=2) - 2.0
    return cast(np.ndarray, np.clip(first, -(2.0**40), 2.0**40).astype(np.int64))


def proven_multipliers(
    scales: np.ndarray, lowest: np.ndarray, highest: np.ndarray, levels: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return multiplier (int32) and shift (int8) per channel for ``ar_requant_once``, or None if a channel has no pair.

    ``lowest`` and ``highest`` bound each channel's accumulator (int32 range); ``levels`` are the scaled values at
    which the clamped output increases. All arrays are per channel except ``levels``.
    """
    multipliers, shifts = [], []
    for start in range(0, len(scales), _BLOCK):
        block = slice(start, start + _BLOCK)
        proof = _prove(scales[block], lowest[block], highest[block], levels)
        if proof is None:
            return None
        multipliers.append(proof[0])
        shifts.append(proof[1])
    return np.concatenate(multipliers), np.concatenate(shifts)


def _prove(
    scales: np.ndarray, lowest: np.ndarray, highest: np.ndarray, levels: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Run ``proven_multipliers`` for one block of channels."""
    pairs = [quantize_multiplier(float(s)) for s in scales]
    base = np.array([m for m, _ in pairs], np.int64)
    shift = np.array([s for _, s in pairs], np.int64)
    first = first_reaching(levels, scales)
    at = np.maximum(first, lowest[:, None])  # its scaled value must reach the level
    below = np.minimum(first - 1, highest[:, None])  # its scaled value must stay below the level
    at_matters, below_matters = first <= highest[:, None], below >= lowest[:, None]

    def holds(multiplier: np.ndarray) -> np.ndarray:
        total = (31 - shift)[:, None]

        def scaled(acc: np.ndarray) -> np.ndarray:
            acc = np.where((acc >= lowest[:, None]) & (acc <= highest[:, None]), acc, 0)
            return cast(np.ndarray, (acc * multiplier[:, None] + (np.int64(1) << (total - 1))) >> total)

        good = (scaled(at) >= levels) | ~at_matters
        good &= (scaled(below) < levels) | ~below_matters
        return good.all(axis=1) & (multiplier >= 0) & (multiplier < 1 << 31)

    chosen = np.full(len(scales), -1, np.int64)
    for nudge in _NUDGES:
        candidate = base + nudge
        chosen = np.where((chosen < 0) & holds(candidate), candidate, chosen)
    if np.any(chosen < 0):
        return None
    return chosen.astype(np.int32), shift.astype(np.int8)


def real_scales(scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mantissa (uint64) and exponent (int8) of each scale for ``ar_scale_real``.

    Any scale below 2^-76 is replaced by 2^-76: both scale every accumulator below 2^53 to 0.
    """
    parts = [math.frexp(max(float(s), 2.0**-76)) for s in scales]
    mantissa = np.array([int(m * (1 << 53)) for m, _ in parts], np.uint64)
    return mantissa, np.array([e - 53 for _, e in parts], np.int8)
