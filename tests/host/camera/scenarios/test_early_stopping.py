"""Tests of MLPerf's early stopping: how many queries a run needs, and how many of them may be late."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.host.camera.scenarios.early_stopping import (
    binomial_cdf,
    estimate_percentile,
    max_late_queries,
    min_queries,
)
from tests.example_count import example_count

binom = pytest.importorskip("scipy.stats", reason="needs scipy").binom

PERCENTILES = st.sampled_from([50.0, 90.0, 95.0, 97.0, 99.0, 99.9])


@given(st.integers(1, 5000), PERCENTILES)
@settings(max_examples=example_count(60), deadline=None)
def test_the_binomial_distribution_agrees_with_scipy(trials: int, percentile: float) -> None:
    chance = 1 - percentile / 100
    max_successes = min(trials, 200)
    assert np.allclose(
        binomial_cdf(max_successes, trials, chance),
        binom.cdf(np.arange(max_successes + 1), trials, chance),
        atol=1e-10,
    )


@given(st.integers(1, 200_000), PERCENTILES)
@settings(max_examples=example_count(60), deadline=None)
def test_the_maximum_of_late_queries_is_exact(queries: int, percentile: float) -> None:
    late, chance = max_late_queries(queries, percentile), 1 - percentile / 100
    if late >= 0:
        assert binom.cdf(late, queries, chance) <= 0.01 + 1e-9
    assert binom.cdf(late + 1, queries, chance) > 0.01 - 1e-9


@given(st.integers(0, 500), PERCENTILES)
@settings(max_examples=example_count(60), deadline=None)
def test_the_minimum_of_queries_is_exact(late: int, percentile: float) -> None:
    queries = min_queries(late, percentile)
    assert max_late_queries(queries, percentile) >= late
    assert max_late_queries(queries - 1, percentile) < late


@pytest.mark.parametrize(
    ("percentile", "queries"), [(90.0, 64), (99.0, 662), (95.0, 130), (97.0, 219), (99.9, 6636)]
)
def test_minimum_counts_of_the_rules(percentile: float, queries: int) -> None:
    """LoadGen requires 662 queries for multi-stream (mlperf.conf) and 64 for single-stream."""
    assert min_queries(1, percentile) == queries


def test_the_estimate_discards_the_allowed_slow_queries() -> None:
    ordered = np.arange(1, 1001)
    estimate = estimate_percentile(ordered, 90.0)
    late = max_late_queries(1000, 90.0)
    assert estimate.value is not None and estimate.value == 1000 - late + 1
    assert estimate.discarded == late - 1
    assert 900 < estimate.value < 930, "above the plain percentile, because the run has few queries"


@pytest.mark.parametrize("queries", [0, 1, 63])
def test_too_few_queries_give_no_estimate(queries: int) -> None:
    estimate = estimate_percentile(np.arange(queries), 90.0)
    assert estimate.value is None
    assert estimate.needed == 64


def test_the_estimate_approaches_the_percentile_with_more_queries() -> None:
    random = np.random.default_rng(0)
    ratios = []
    for count in (100, 1000, 10_000, 100_000):
        ordered = np.sort(random.exponential(1e6, count)).astype(np.int64)
        estimate = estimate_percentile(ordered, 90.0)
        assert estimate.value is not None
        ratios.append((estimate.discarded + 1) / count)
    # The share of discarded queries grows to the 10 % above the percentile.
    assert ratios == sorted(ratios)
    assert ratios[-1] == pytest.approx(0.1, rel=0.03)
