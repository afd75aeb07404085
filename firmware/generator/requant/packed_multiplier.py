"""A channel's multiplier and shift in one 32-bit word, where that provably changes no output.

A multiplier is between 2^30 and 2^31: its leading one need not be stored. Of the other 30 bits the last three make
room for a shift of five bits. An int8 output has at most 256 values, and both the exact and the shortened scaling never
decrease as the accumulator grows: they agree everywhere if they agree around each of the at most 255 places where the
output steps up. That is checked here for every accumulator that the weights allow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.quantized_arithmetic import round_twice

#: Bits of the multiplier that are not stored, and bits of the shift that stand in their place and the leading one's.
_DROPPED, SHIFT_BITS = 3, 5
_LEADING = 1 << 30
#: Shortened multipliers tried, relative to the nearest one.
_NUDGES = (0, 1, -1, 2, -2, 3, -3)
#: Rounding twice moves a step by less than this many accumulator units from where real arithmetic has it.
_MARGIN = 2
#: Channels proven at a time, which bounds the memory of the proof.
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
    """One int32 word per channel, ``multiplier bits << 5 | shift to the right``, or None where a channel has no proof.

    The arguments are those of ``shorten``.
    """
    short = shorten(multiplier, shift, lowest, highest, levels, _DROPPED)
    if short is None:
        return None
    value: np.ndarray | None = ((short.stored << SHIFT_BITS) | short.right).astype(np.uint32).view(np.int32)
    return value


def shorten(
    multiplier: np.ndarray,
    shift: np.ndarray,
    lowest: np.ndarray,
    highest: np.ndarray,
    levels: np.ndarray,
    dropped: int,
) -> Shortened | None:
    """Each channel's multiplier without its last ``dropped`` bits, or None where a channel has no proof.

    ``multiplier`` and ``shift`` are exact; ``lowest`` and ``highest`` bound each channel's accumulator; ``levels`` are
    the scaled values at which the clamped output steps up. All are per channel except ``levels``.
    """
    if np.any(shift > 0) or len(levels) == 0:
        return None
    # A scale below 2^-32 scales every accumulator to 0. So does the smallest one that a word can hold, 2^-32, by
    # rounding twice: half an accumulator below 2^31 - 1 is below 2^30, and that over 2^31 rounds to 0.
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
    exact = multiplier.astype(np.int64)[:, None, None]
    right = -shift.astype(np.int64)[:, None, None]
    real = multiplier * 2.0 ** (shift.astype(np.float64) - 31)
    guess = np.ceil((levels[None, :] - 0.5) / real[:, None])
    tries = guess[:, :, None] + np.arange(-_MARGIN, _MARGIN + 1)
    acc = np.clip(tries, lowest[:, None, None], highest[:, None, None]).astype(np.int64)
    want = round_twice(acc, exact, -right)
    # The step must lie inside the tries, or beyond what the accumulator can reach.
    level = levels[None, :]
    inside = (want[:, :, 0] < level) | (acc[:, :, 0] == lowest[:, None])
    inside &= (want[:, :, -1] >= level) | (acc[:, :, -1] == highest[:, None])
    if not inside.all():
        return None
    nearest = (multiplier.astype(np.int64) + ((1 << dropped) >> 1)) >> dropped
    chosen = np.full(len(multiplier), -1, np.int64)
    above = want >= level[:, :, None]
    for nudge in _NUDGES:
        left = np.flatnonzero(chosen < 0)
        if not left.size:
            break
        short = nearest[left] + nudge
        got = round_twice(acc[left], (short << dropped)[:, None, None], -right[left])
        # The clamped output shows only the side of the level, not the value.
        same = ((got >= level[:, :, None]) == above[left]).all(axis=(1, 2))
        same &= (short << dropped >= _LEADING) & (short << dropped < 2 * _LEADING)
        chosen[left[same]] = short[same]
    if np.any(chosen < 0):
        return None
    return chosen - (_LEADING >> dropped)


def accumulator_bounds(
    weights: np.ndarray, axis: int, bias: np.ndarray | None, input_range: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest sum per channel along ``axis``: any input in ``input_range`` (zero point taken off), and any
    tap may be padding."""
    w = weights.astype(np.int64)
    low, high = input_range
    others = tuple(a for a in range(w.ndim) if a != axis)
    ends = np.stack([w * low, w * high, np.zeros_like(w)])
    lowest, highest = ends.min(axis=0).sum(axis=others), ends.max(axis=0).sum(axis=others)
    if bias is not None:
        lowest, highest = lowest + bias, highest + bias
    return lowest, highest
