"""Compute the number of late queries that a run of a given length may have, by MLPerf Inference's early stopping.

Assume that a system answers exactly the required share ``p`` of queries in time. The probability that at most ``t`` of
``n`` queries are late is then F(t; n, 1 - p), where F is the cumulative binomial distribution. A run with ``t`` late
queries is valid if this probability is at most 1 - c: the share of the system is then above ``p`` with confidence c.
(See inference_rules.adoc, appendix Early Stopping Criterion; tolerance 0, c = 0.99.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arenite.host.camera.scenarios.rules import CONFIDENCE


def binomial_cdf(max_t: int, trials: int, probability: float) -> np.ndarray:
    """Return the cumulative binomial distribution F(t; trials, probability) for all t from 0 to ``max_t``: float64,
    shape (max_t + 1,)."""
    t = np.arange(1, max_t + 1, dtype=np.float64)
    odds = math.log(probability) - math.log1p(-probability)
    logs = np.concatenate(([0.0], np.cumsum(np.log(trials - t + 1) - np.log(t) + odds)))
    value: np.ndarray = np.minimum(np.cumsum(np.exp(logs + trials * math.log1p(-probability))), 1.0)
    return value


def max_late_queries(queries: int, percentile: float, confidence: float = CONFIDENCE) -> int:
    """Return the largest number of late queries with which a run of ``queries`` queries is valid; -1 if the run is not
    valid even without late queries. ``percentile`` is the required share of queries in time, in percent."""
    late_share = 1.0 - percentile / 100.0
    # It is enough to compute t up to the expected number of late queries: beyond it, the probability is above 0.5.
    sums = binomial_cdf(min(queries, math.ceil(queries * late_share) + 1), queries, late_share)
    return int(np.searchsorted(sums, 1.0 - confidence, side="right")) - 1


def min_queries(late: int, percentile: float, confidence: float = CONFIDENCE) -> int:
    """Return the smallest number of queries with which a run with ``late`` late queries is valid."""
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
    """An upper estimate of a percentile. ``value`` is None if there were fewer than ``needed`` queries. The
    ``discarded`` slowest queries are above ``value``."""

    value: int | None
    discarded: int
    needed: int


def estimate_percentile(
    ordered: np.ndarray, percentile: float, confidence: float = CONFIDENCE
) -> PercentileEstimate:
    """Estimate a percentile of the sorted latencies ``ordered``: the largest latency that remains after the queries
    that may be late are discarded."""
    late = max_late_queries(len(ordered), percentile, confidence) if len(ordered) else -1
    if late < 1:
        return PercentileEstimate(None, 0, min_queries(1, percentile, confidence))
    return PercentileEstimate(
        int(ordered[len(ordered) - late]), late - 1, min_queries(1, percentile, confidence)
    )
