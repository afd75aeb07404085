"""Pack a channel's multiplier and shift into one 32-bit word, where that is proven to change no output.

A multiplier is between 2^30 and 2^31, so its leading one need not be stored. The last three of the other 30 bits are
dropped to make room for a shift of five bits. An int8 output has at most 256 values, and both the exact and the
shortened scaling never decrease as the accumulator grows. So they agree everywhere if they agree around each of the at
most 255 places where the output increases. This module checks that for every accumulator that the weights allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from arenite.converters.graph.quantized_arithmetic import round_twice

#: The number of dropped bits of the multiplier, and the width of the shift in bits. The shift takes the place of the
#: dropped bits, the leading one and the sign bit.
_DROPPED, SHIFT_BITS = 3, 5
#: The leading one of a multiplier.
_LEADING = 1 << 30
#: Shortened multipliers to try, as differences from the nearest one.
_NUDGES = (0, 1, -1, 2, -2, 3, -3)
#: Rounding twice moves a step by less than this many accumulator units from its place in real arithmetic.
_MARGIN = 2
#: The number of channels that one proof handles. This limits its memory.
_BLOCK = 256


@dataclass(frozen=True)
class Shortened:
    """Multipliers without their leading one and last ``dropped`` bits, and shifts to the right: int64 [channels]."""

    stored: np.ndarray
    right: np.ndarray
    dropped: int


def pack(
    multiplier: np.ndarray, shift: np.ndarray, lowest: np.ndarray, highest: np.ndarray, levels: np.ndarray
) -> np.ndarray | None:
    """Return one int32 word per channel, ``multiplier bits << 5 | shift to the right``, or None if a channel
    has no word that is proven exact.

    The arguments are those of ``shorten``.
    """
    short = shorten(multiplier, shift, lowest, highest, levels, _DROPPED)
    if short is None:
        return None
    return cast(np.ndarray, ((short.stored << SHIFT_BITS) | short.right).astype(np.uint32).view(np.int32))


def shorten(
    multiplier: np.ndarray,
    shift: np.ndarray,
    lowest: np.ndarray,
    highest: np.ndarray,
    levels: np.ndarray,
    dropped: int,
) -> Shortened | None:
    """Return each channel's multiplier without its last ``dropped`` bits, or None if a channel has none that is proven
    exact.

    ``multiplier`` and ``shift`` are exact; ``lowest`` and ``highest`` bound each channel's accumulator; ``levels`` are
    the scaled values at which the clamped output increases. All are per channel except ``levels``.
    """
    if np.any(shift > 0) or len(levels) == 0:
        return None
    # A scale below 2^-32 scales every accumulator to 0. With two roundings, 2^-32 does the same, and it is the smallest
    # scale that a word can hold: half an accumulator below 2^31 - 1 is below 2^30, and that over 2^31 rounds to 0.
    tiny = multiplier == 0
    multiplier = np.where(tiny, _LEADING, multiplier)
    shift = np.where(tiny, -31, shift)
    if np.any(tiny & (np.maximum(np.abs(lowest), np.abs(highest)) > (1 << 31) - 2)):
        return None
    stored = []
    for start in range(0, len(multiplier), _BLOCK):
        block = slice(start, start + _BLOCK)
        block_result = _shorten(
            multiplier[block], shift[block], lowest[block], highest[block], levels, dropped
        )
        if block_result is None:
            return None
        stored.append(block_result)
    return Shortened(np.concatenate(stored), -shift.astype(np.int64), dropped)


def _shorten(
    multiplier: np.ndarray,
    shift: np.ndarray,
    lowest: np.ndarray,
    highest: np.ndarray,
    levels: np.ndarray,
    dropped: int,
) -> np.ndarray | None:
    """Return ``Shortened.stored`` for one block of channels, or None."""
    exact = multiplier.astype(np.int64)[:, None, None]
    right = -shift.astype(np.int64)[:, None, None]
    real = multiplier * 2.0 ** (shift.astype(np.float64) - 31)
    guess = np.ceil((levels[None, :] - 0.5) / real[:, None])
    tries = guess[:, :, None] + np.arange(-_MARGIN, _MARGIN + 1)
    acc = np.clip(tries, lowest[:, None, None], highest[:, None, None]).astype(np.int64)
    expected = round_twice(acc, exact, -right)
    # The step must be among the candidates, or beyond the range of the accumulator.
    level = levels[None, :]
    inside = (expected[:, :, 0] < level) | (acc[:, :, 0] == lowest[:, None])
    inside &= (expected[:, :, -1] >= level) | (acc[:, :, -1] == highest[:, None])
    if not inside.all():
        return None
    nearest = (multiplier.astype(np.int64) + ((1 << dropped) >> 1)) >> dropped
    chosen = np.full(len(multiplier), -1, np.int64)
    above = expected >= level[:, :, None]
    for nudge in _NUDGES:
        left = np.flatnonzero(chosen < 0)
        if not left.size:
            break
        short = nearest[left] + nudge
        actual = round_twice(acc[left], (short << dropped)[:, None, None], -right[left])
        # The clamped output depends only on the side of the level, not on the value.
        same = ((actual >= level[:, :, None]) == above[left]).all(axis=(1, 2))
        same &= (short << dropped >= _LEADING) & (short << dropped < 2 * _LEADING)
        chosen[left[same]] = short[same]
    if np.any(chosen < 0):
        return None
    return chosen - (_LEADING >> dropped)


def accumulator_bounds(
    weights: np.ndarray, axis: int, bias: np.ndarray | None, input_range: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest sum per channel along ``axis``, for any input in ``input_range`` (zero point
    subtracted). Any tap may be padding."""
    w = weights.astype(np.int64)
    low, high = input_range
    others = tuple(a for a in range(w.ndim) if a != axis)
    ends = np.stack([w * low, w * high, np.zeros_like(w)])
    lowest, highest = ends.min(axis=0).sum(axis=others), ends.max(axis=0).sum(axis=others)
    if bias is not None:
        lowest, highest = lowest + bias, highest + bias
    return lowest, highest
