"""ADD of two int8 tensors as one linear function, proven over all inputs.

LiteRT brings both inputs to a common scale, adds them and scales the sum, rounding twice each time. The result depends
on two bytes: all 65536 pairs are computed here, and a linear function with integer factors is sought that gives each of
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from arenite.firmware.generator.quant import INTEGER_RANGE

_LOW, _HIGH = INTEGER_RANGE["int8"]
#: Factors tried, relative to the nearest.
_NUDGES = (0, 1, -1, 2, -2)
#: Bits that the linear function may take, sign included.
_BITS = 31
_MOST_SHIFT = 24


@dataclass(frozen=True)
class Scaling:
    """One ``ar_scale_down``: a multiplier in Q0.31 and a shift to the right."""

    multiplier: int
    right: int

    def apply(self, x: np.ndarray) -> np.ndarray:
        """TFLite's MultiplyByQuantizedMultiplierSmallerThanOneExp on int64 values in the int32 range."""
        high = (x * self.multiplier + (1 << 30)) >> 31
        mask = (1 << self.right) - 1
        return (high >> self.right) + ((high & mask) > (mask >> 1) + (high < 0))


@dataclass(frozen=True)
class LinearAdd:
    """``clamp((a * multiplier1 + b * multiplier2 + rounding) >> shift)``."""

    multiplier1: int
    multiplier2: int
    rounding: int
    shift: int


def reference_add(
    scalings: tuple[Scaling, Scaling, Scaling], zero_points: tuple[int, int, int], sign2: int, left: int
) -> np.ndarray:
    """The output before the clamp for each pair: int64 [256 of input 1][256 of input 2], from -128 up."""
    x = np.arange(_LOW, _HIGH + 1, dtype=np.int64)
    a = scalings[0].apply((x - zero_points[0]) << left)
    b = scalings[1].apply((x - zero_points[1]) << left) * sign2
    return scalings[2].apply(a[:, None] + b[None, :]) + zero_points[2]


@lru_cache(maxsize=256)
def linear_add(
    scalings: tuple[Scaling, Scaling, Scaling],
    zero_points: tuple[int, int, int],
    sign2: int,
    left: int,
    act_range: tuple[int, int],
) -> LinearAdd | None:
    """The linear function that gives ``reference_add``, clamped, for every pair of inputs; None when none is found.

    ``zero_points`` are of both inputs and the output. The function is exact after a clamp to ``act_range``.
    """
    low, high = act_range
    want = np.clip(reference_add(scalings, zero_points, sign2, left), low, high)
    reals = [s.multiplier * 2.0 ** (-31 - s.right) for s in scalings]
    real1, real2 = (reals[k] * reals[2] * 2.0**left for k in (0, 1))
    # As many fraction bits as the largest sum leaves; the first guess may still be one too many.
    shift = min(int(_BITS - np.ceil(np.log2(128 * (real1 + real2) + 256))), _MOST_SHIFT)
    if shift < 2:
        return None
    for fraction in (shift, shift - 1):
        found = _solve(want, act_range, (real1, real2), sign2, fraction)
        if found is not None:
            return found
    return None


def _solve(
    want: np.ndarray, act_range: tuple[int, int], reals: tuple[float, float], sign2: int, shift: int
) -> LinearAdd | None:
    """Factors and rounding constant with ``shift`` fraction bits that give ``want`` for every pair."""
    low, high = act_range
    x = np.arange(_LOW, _HIGH + 1, dtype=np.int64)
    for nudge1 in _NUDGES:
        for nudge2 in _NUDGES:
            m1 = round(reals[0] * 2.0**shift) + nudge1
            m2 = (round(reals[1] * 2.0**shift) + nudge2) * sign2
            linear = m1 * x[:, None] + m2 * x[None, :]
            # The rounding constant must keep every pair at or above its output's start, and below the next one's.
            least = np.max(np.where(want > low, (want << shift) - linear, -(1 << 40)))
            most = np.min(np.where(want < high, ((want + 1) << shift) - 1 - linear, 1 << 40))
            if least <= most:
                rounding = int(least + most) // 2
                sums = (int(linear.min()), int(linear.max()))
                if max(*map(abs, sums), *(abs(s + rounding) for s in sums)) < 1 << 31:
                    return LinearAdd(m1, m2, rounding, shift)
    return None
