"""Compute percentiles of many values in little memory.

The percentiles of few values are exact. The percentiles of more values come from a histogram with logarithmic buckets.
"""

from __future__ import annotations

import math

import numpy as np

#: The ratio of two neighboring bounds of buckets. The (geometric) middle of a bucket differs from its values by less
#: than 1 %, because sqrt(1.02) is below 1.01.
RATIO = 1.02
#: The number of buckets for values from 1 to 10^12, which is a quarter of an hour in ns. Smaller and larger values are
#: counted in the first and the last bucket.
BUCKETS = math.ceil(math.log(1e12) / math.log(RATIO)) + 1

_INVERSE_LOG = 1.0 / math.log(RATIO)


class Distribution:
    """The distribution of non-negative integers, here nanoseconds. Percentiles of up to ``exact`` values are exact;
    percentiles of more values are within 1 % of the exact percentiles. ``count``, ``mean``, ``deviation``, ``smallest``
    and ``largest`` are always exact."""

    __slots__ = ("_exact", "_histogram", "_limit", "_m2", "count", "largest", "mean", "smallest")

    def __init__(self, exact: int = 8192) -> None:
        self._limit = exact
        self._exact: list[np.ndarray] | None = []
        self._histogram: np.ndarray | None = None
        self.count = 0
        self.mean = 0.0
        self._m2 = 0.0  # sum of squared distances from the mean
        self.smallest = 0
        self.largest = 0

    @property
    def exact(self) -> bool:
        return self._exact is not None

    @property
    def deviation(self) -> float:
        """The standard deviation of all values, as of a complete population (divided by ``count``)."""
        return math.sqrt(self._m2 / self.count) if self.count else 0.0

    def add(self, values: np.ndarray) -> None:
        """Add ``values``, int64. Do not change the array afterwards, because it may be stored."""
        if not len(values):
            return
        mean = float(values.mean())
        # NumPy subtracts the mean of ``values`` before it squares them, so that no precision is lost by cancellation.
        self._moments(
            len(values), mean, float(values.var()) * len(values), int(values.min()), int(values.max())
        )
        if self._exact is not None and self.count <= self._limit:
            self._exact.append(values)
            return
        self._to_histogram()
        assert self._histogram is not None
        self._histogram += _counts(values)

    def merge(self, other: Distribution) -> None:
        if not other.count:
            return
        self._moments(other.count, other.mean, other._m2, other.smallest, other.largest)
        if self._exact is not None and other._exact is not None and self.count <= self._limit:
            self._exact.extend(other._exact)
            return
        self._to_histogram()
        assert self._histogram is not None
        if other._exact is not None:
            self._histogram += _counts(np.concatenate(other._exact))
        else:
            self._histogram += other._histogram

    def _moments(self, count: int, mean: float, m2: float, smallest: int, largest: int) -> None:
        """Add the count, mean, sum of squared distances, smallest and largest of further values, as in Chan, Golub and
        LeVeque, "Updating formulae and a pairwise algorithm for sample variances" (1979)."""
        self.smallest = min(self.smallest, smallest) if self.count else smallest
        self.largest = max(self.largest, largest) if self.count else largest
        difference = mean - self.mean
        total = self.count + count
        self._m2 += m2 + difference * difference * self.count * count / total
        self.mean += difference * count / total
        self.count = total

    def _to_histogram(self) -> None:
        if self._exact is None:
            return
        self._histogram = np.zeros(BUCKETS, np.int64)
        if self._exact:
            self._histogram += _counts(np.concatenate(self._exact))
        self._exact = None

    def percentile(self, percent: float) -> float:
        """Return the smallest value that at least ``percent`` percent of all values do not exceed (nearest rank); 0 if
        there are no values."""
        return self.percentiles((percent,))[0]

    def percentiles(self, percents: tuple[float, ...]) -> list[float]:
        if not self.count:
            return [0.0 for _ in percents]
        # A floating-point number such as 99.9 is not exact, so a rank that is too large by less than 1e-6 is not
        # rounded up.
        ranks = [min(self.count, max(1, math.ceil(p / 100.0 * self.count - 1e-6))) for p in percents]
        if self._exact is not None:
            if len(self._exact) > 1:
                self._exact = [np.concatenate(self._exact)]
            ordered = np.partition(self._exact[0], [rank - 1 for rank in ranks])
            return [float(ordered[rank - 1]) for rank in ranks]
        assert self._histogram is not None
        sums = np.cumsum(self._histogram)
        estimates = []
        for rank in ranks:
            bucket = int(np.searchsorted(sums, rank))
            estimates.append(min(max(RATIO ** (bucket + 0.5), float(self.smallest)), float(self.largest)))
        return estimates

    def to_json(self, divide: float = 1.0) -> dict[str, float]:
        """Return p50, p95, p99, mean and max by name, all divided by ``divide``."""
        p50, p95, p99 = self.percentiles((50.0, 95.0, 99.0))
        named = {"p50": p50, "p95": p95, "p99": p99, "mean": self.mean, "max": float(self.largest)}
        return {name: round(value / divide, 4) for name, value in named.items()}


def _counts(values: np.ndarray) -> np.ndarray:
    """Return the number of values in each bucket, int64, shape (BUCKETS,)."""
    buckets = (np.log(np.maximum(values, 1)) * _INVERSE_LOG).astype(np.int64)
    return np.bincount(np.minimum(buckets, BUCKETS - 1), minlength=BUCKETS)
