"""A histogram that grows with its values and does not depend on their order.

The bins have equal width and cover [-reach, reach), where ``reach`` is a power of two. If a value is outside, ``reach``
doubles and pairs of adjacent bins merge. The result is the same as if ``reach`` had been this large from the start.
"""

from __future__ import annotations

import math

import numpy as np

#: The number of bins. If the range of the values is quantized to int8, a step is at least 8 bins wide.
BINS = 4096

_MIN_EXPONENT = -64


class Histogram:
    """The number of values in each bin. ``exponent`` is log2 of ``reach``."""

    def __init__(self, exponent: int = _MIN_EXPONENT, bins: np.ndarray | None = None) -> None:
        self.exponent = exponent
        self.bins = np.zeros(BINS, np.int64) if bins is None else bins

    @property
    def reach(self) -> float:
        return math.ldexp(1.0, self.exponent)

    def add(self, values: np.ndarray, largest: float) -> None:
        """Count ``values``, a one-dimensional array of finite numbers. ``largest`` is their largest magnitude."""
        needed = math.frexp(largest)[1] if largest else _MIN_EXPONENT  # largest < 2**needed
        if needed > self.exponent:
            self._grow(needed)
        # A multiplication by a power of two is exact, so no rounding moves a value to another bin.
        places = np.floor(values * np.float64(BINS / 2 / self.reach)).astype(np.int64) + BINS // 2
        self.bins += np.bincount(places, minlength=BINS)

    def _grow(self, exponent: int) -> None:
        """Merge bins until ``reach`` is 2 ** ``exponent``."""
        for _ in range(min(exponent - self.exponent, BINS.bit_length())):
            merged = self.bins.reshape(-1, 2).sum(axis=1)
            self.bins = np.zeros(BINS, np.int64)
            self.bins[BINS // 4 : 3 * BINS // 4] = merged
        self.exponent = exponent

    def centers(self) -> np.ndarray:
        """Return the middle of each bin: float64 [BINS]."""
        return ((np.arange(BINS) + 0.5) / (BINS / 2) - 1.0) * self.reach
