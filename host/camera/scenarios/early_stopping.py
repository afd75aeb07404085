"""The number of slow queries that a run of a given length may have: MLPerf Inference's early stopping.

A system that answers exactly the required share ``p`` of queries in time has at most ``t`` late ones among ``n`` with
probability F(t; n, 1 - p), that of the binomial distribution. A run is valid when this probability is at most 1 - c:
the system is then better with confidence c (inference_rules.adoc, appendix Early Stopping Criterion; tolerance 0, c =
0.99).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arenite.host.camera.scenarios.rules import CONFIDENCE


def binomial_cdf(most: int, trials: int, chance: float) -> np.ndarray:
    """F(t; trials, chance) for t = 0 ... ``most``: float64, shape (most + 1,)."""
    t = np.arange(1, most + 1, dtype=np.float64)
    odds = math.log(chance) - math.log1p(-chance)
    logs = np.concatenate(([0.0], np.cumsum(np.log(trials - t + 1) - np.log(t) + odds)))
    value: np.ndarray = np.minimum(np.cumsum(np.exp(logs + trials * math.log1p(-chance))), 1.0)
    return value


def max_late_queries(queries: int, percentile: float, confidence: float = CONFIDENCE) -> int:
    """Return the largest number of late queries with which a run of ``queries`` is valid; -1 if it is not valid with
    none."""
    chance = 1.0 - percentile / 100.0
    # Beyond the expected number the probability is above a half.
    sums = binomial_cdf(min(queries, math.ceil(queries * chance) + 1), queries, chance)
    return int(np.searchsorted(sums, 1.0 - confidence, side="right")) - 1


def min_queries(late: int, percentile: float, confidence: float = CONFIDENCE) -> int:
    """Return the smallest number of queries with which a run with ``late`` late ones is valid."""
    low, high = late, max(64, 2 * late)
    while max_late_queries(high, percentile, confidence) < late:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if max_late_queries(middle, percentile, confidence) < late:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True, slots=True)
class PercentileEstimate:
    """A percentile on the safe side: ``value`` is None when there were fewer than ``needed`` queries, and the
    ``discarded`` slowest queries are above it."""

    value: int | None
    discarded: int
    needed: int


def estimate_percentile(
    ordered: np.ndarray, percentile: float, confidence: float = CONFIDENCE
) -> PercentileEstimate:
    """Estimate a percentile of sorted latencies: the largest one after those that may be slower."""
    late = max_late_queries(len(ordered), percentile, confidence) if len(ordered) else -1
    if late < 1:
        return PercentileEstimate(None, 0, min_queries(1, percentile, confidence))
    return PercentileEstimate(
        int(ordered[len(ordered) - late]), late - 1, min_queries(1, percentile, confidence)
    )
