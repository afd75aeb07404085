"""ADD and SUB of two int8 tensors as one multiply-add, where that gives every output exactly.

LiteRT scales both inputs to a common scale, adds, and scales the sum, rounding each time. The result is a function of
two bytes, 65,536 values. A kernel computes

    out = clamp((a * multiplier1 + b * multiplier2 + constant) >> shift)

in 32 bits instead; here the four integers are found and compared with all of those values.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.quantized_arithmetic import round_twice

#: Multipliers tried, relative to the nearest ones.
_NUDGES = (0, 1, -1, 2, -2, 3, -3)
#: Shifts tried, from the finest down.
_SHIFTS = 4
_BYTES = np.arange(-128, 128, dtype=np.int64)


@dataclass(frozen=True)
class AddScaling:
    """The constants of ``ar_add_element`` for int8: multipliers below one with shifts to the right, and zero points."""

    multipliers: tuple[int, int, int]  # of input 1, input 2 and the sum
    shifts: tuple[int, int, int]  # to the right
    zero_points: tuple[int, int, int]  # of input 1, input 2 and the output
    act_range: tuple[int, int]
    sign2: int  # 1 to add, -1 to subtract


@dataclass(frozen=True)
class AffineSum:
    """The kernel's integers; no sum of theirs leaves 32 bits."""

    multiplier1: int
    multiplier2: int
    constant: int
    shift: int


def exact_sums(scaling: AddScaling) -> np.ndarray:
    """LiteRT's output for every pair of bytes: int64 [256, 256], both from -128."""
    scaled = [
        _scale_down((_BYTES - scaling.zero_points[k]) << 20, scaling.multipliers[k], scaling.shifts[k])
        for k in (0, 1)
    ]
    sums = scaled[0][:, None] + scaling.sign2 * scaled[1][None, :]
    out = _scale_down(sums, scaling.multipliers[2], scaling.shifts[2]) + scaling.zero_points[2]
    value: np.ndarray = np.clip(out, *scaling.act_range)
    return value


def _scale_down(x: np.ndarray, multiplier: int, right: int) -> np.ndarray:
    return round_twice(x, np.array(multiplier, np.int64), np.array(-right, np.int64))


@functools.lru_cache(maxsize=256)
def solve_sum(scaling: AddScaling) -> AffineSum | None:
    """Integers that give ``exact_sums`` everywhere, or None when none of those tried do."""
    want = exact_sums(scaling)
    low, high = scaling.act_range
    real = [m * 2.0 ** (-31 - s) for m, s in zip(scaling.multipliers, scaling.shifts, strict=True)]
    ratios = (real[0] * real[2] * 2.0**20, scaling.sign2 * real[1] * real[2] * 2.0**20)
    offset = scaling.zero_points[2] - sum(r * z for r, z in zip(ratios, scaling.zero_points[:2], strict=True))
    most = 128 * sum(abs(r) for r in ratios) + abs(offset) + 1
    finest = min(int(np.floor(30 - np.log2(most))), 30)
    for shift in range(finest, max(finest - _SHIFTS, 0), -1):
        near = [int(np.rint(r * (1 << shift))) for r in ratios]
        for first in _NUDGES:
            for second in _NUDGES:
                m1, m2 = near[0] + first, near[1] + second
                constant = _constant(want, m1, m2, shift, low, high)
                if constant is not None:
                    return AffineSum(m1, m2, constant, shift)
    return None


def _constant(want: np.ndarray, m1: int, m2: int, shift: int, low: int, high: int) -> int | None:
    """A constant with which the multipliers give ``want``: each output leaves an interval for it."""
    product = _BYTES[:, None] * m1 + _BYTES[None, :] * m2
    least = int(np.max((want << shift) - product, where=want > low, initial=-(1 << 40)))
    most = int(np.min(((want + 1) << shift) - 1 - product, where=want < high, initial=1 << 40))
    if least > most:
        return None
    constant = (max(least, -(1 << 31)) + min(most, (1 << 31) - 1)) // 2
    ends = (int(product.min()) + constant, int(product.max()) + constant)
    inside = least <= constant <= most and ends[0] >= -(1 << 31) and ends[1] < 1 << 31
    return constant if inside and abs(constant) < 1 << 31 else None
