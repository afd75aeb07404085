"""Compute ADD and SUB of two int8 tensors with one linear formula, if it gives LiteRT's output for all inputs.

LiteRT scales both inputs to a common scale, adds, and scales the sum, rounding each time. The result is a function of
two bytes and has 65,536 values. A kernel computes

    out = clamp((a * multiplier1 + b * multiplier2 + constant) >> shift)

in 32 bits instead. This module searches for the four integers and compares the results for all 65,536 pairs.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import cast

import numpy as np

from arenite.converters.graph.quantized_arithmetic import round_twice

#: Multipliers to try, as differences from the integers that are nearest to the real multipliers.
_NUDGES = (0, 1, -1, 2, -2, 3, -3)
#: The number of shifts to try, from the largest shift with which all sums fit into 32 bits downwards.
_SHIFTS = 4
#: LiteRT shifts both inputs to the left by this number of bits before it scales them.
_LEFT_SHIFT = 20
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
    """The four integers of the kernel's formula. With them, every sum fits into int32."""

    multiplier1: int
    multiplier2: int
    constant: int
    shift: int


def exact_sums(scaling: AddScaling) -> np.ndarray:
    """Return LiteRT's output for every pair of bytes: int64 [256, 256]. Index 0 is the byte -128."""
    scaled = [
        _scale_down(
            (_BYTES - scaling.zero_points[k]) << _LEFT_SHIFT, scaling.multipliers[k], scaling.shifts[k]
        )
        for k in (0, 1)
    ]
    sums = scaled[0][:, None] + scaling.sign2 * scaled[1][None, :]
    out = _scale_down(sums, scaling.multipliers[2], scaling.shifts[2]) + scaling.zero_points[2]
    return cast(np.ndarray, np.clip(out, *scaling.act_range))


def _scale_down(x: np.ndarray, multiplier: int, right: int) -> np.ndarray:
    return round_twice(x, np.array(multiplier, np.int64), np.array(-right, np.int64))


@functools.lru_cache(maxsize=256)
def solve_sum(scaling: AddScaling) -> AffineSum | None:
    """Return integers that give ``exact_sums`` for every pair of bytes, or None if no tried combination does."""
    expected = exact_sums(scaling)
    low, high = scaling.act_range
    real = [m * 2.0 ** (-31 - s) for m, s in zip(scaling.multipliers, scaling.shifts, strict=True)]
    ratios = (real[0] * real[2] * 2.0**_LEFT_SHIFT, scaling.sign2 * real[1] * real[2] * 2.0**_LEFT_SHIFT)
    offset = scaling.zero_points[2] - sum(r * z for r, z in zip(ratios, scaling.zero_points[:2], strict=True))
    bound = 128 * sum(abs(r) for r in ratios) + abs(offset) + 1
    finest = min(int(np.floor(30 - np.log2(bound))), 30)
    for shift in range(finest, max(finest - _SHIFTS, 0), -1):
        near = [int(np.rint(r * (1 << shift))) for r in ratios]
        for first in _NUDGES:
            for second in _NUDGES:
                m1, m2 = near[0] + first, near[1] + second
                constant = _constant(expected, m1, m2, shift, low, high)
                if constant is not None:
                    return AffineSum(m1, m2, constant, shift)
    return None


def _constant(expected: np.ndarray, m1: int, m2: int, shift: int, low: int, high: int) -> int | None:
    """Return a constant with which the multipliers give ``expected``, or None. Each output allows an interval of
    constants, and the constant must be in all intervals."""
    product = _BYTES[:, None] * m1 + _BYTES[None, :] * m2
    lowest = int(np.max((expected << shift) - product, where=expected > low, initial=-(1 << 40)))
    highest = int(np.min(((expected + 1) << shift) - 1 - product, where=expected < high, initial=1 << 40))
    if lowest > highest:
        return None
    constant = (max(lowest, -(1 << 31)) + min(highest, (1 << 31) - 1)) // 2
    ends = (int(product.min()) + constant, int(product.max()) + constant)
    inside = lowest <= constant <= highest and ends[0] >= -(1 << 31) and ends[1] < 1 << 31
    return constant if inside and abs(constant) < 1 << 31 else None
