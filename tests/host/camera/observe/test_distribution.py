"""Tests of ``Distribution``, which counts values and computes their percentiles in limited memory."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.host.camera.observe.distribution import BUCKETS, Distribution
from tests.example_count import example_count

VALUES = st.lists(st.integers(0, 10**12), min_size=1, max_size=400)
PERCENTS = (0.0, 1.0, 50.0, 90.0, 95.0, 99.0, 99.9, 100.0)


def nearest_rank(values: list[int], percent: float) -> int:
    """Return the percentile by the nearest-rank method: the smallest value that is not below ``percent`` % of the
    values."""
    ordered = sorted(values)
    return ordered[max(1, math.ceil(percent / 100 * len(values) - 1e-6)) - 1]


def filled(values: list[int], exact: int, parts: int) -> Distribution:
    """Return the distribution of ``values``, which are added in ``parts`` arrays. It is exact for up to ``exact``
    values."""
    distribution = Distribution(exact)
    for part in np.array_split(np.array(values, np.int64), parts):
        distribution.add(part)
    return distribution


@given(VALUES, st.integers(1, 5))
@settings(max_examples=example_count(60), deadline=None)
def test_few_values_are_exact(values: list[int], parts: int) -> None:
    distribution = filled(values, 400, parts)
    assert distribution.exact
    assert distribution.percentiles(PERCENTS) == [nearest_rank(values, percent) for percent in PERCENTS]


@given(VALUES, st.integers(1, 5))
@settings(max_examples=example_count(60), deadline=None)
def test_many_values_are_within_one_percent(values: list[int], parts: int) -> None:
    distribution = filled(values, 0, parts)
    assert not distribution.exact
    for percent, actual in zip(PERCENTS, distribution.percentiles(PERCENTS), strict=True):
        assert actual == pytest.approx(nearest_rank(values, percent), rel=0.01, abs=2)


@given(VALUES, VALUES, st.integers(0, 800), st.integers(0, 800))
@settings(max_examples=example_count(60), deadline=None)
def test_merging_equals_adding_all_values(
    first: list[int], second: list[int], first_exact: int, second_exact: int
) -> None:
    merged, combined = filled(first, first_exact, 1), filled(first + second, first_exact, 1)
    merged.merge(filled(second, second_exact, 2))
    assert (merged.count, merged.smallest, merged.largest) == (
        combined.count,
        combined.smallest,
        combined.largest,
    )
    assert merged.mean == pytest.approx(np.mean(first + second))
    assert merged.deviation == pytest.approx(np.std(first + second), rel=1e-6, abs=1e-3)
    for percent, actual in zip(PERCENTS, merged.percentiles(PERCENTS), strict=True):
        assert actual == pytest.approx(nearest_rank(first + second, percent), rel=0.01, abs=2)


def test_memory_stays_bounded() -> None:
    distribution = Distribution(1000)
    random = np.random.default_rng(0)
    for _ in range(200):
        distribution.add(random.integers(1, 10**9, 1000))
    assert distribution.count == 200_000
    assert distribution._exact is None
    assert distribution._histogram is not None
    assert distribution._histogram.nbytes == BUCKETS * 8 < 12_000


def test_percentiles_are_not_outside_of_the_smallest_and_largest_value() -> None:
    distribution = filled([1_000_000] * 10, 0, 1)
    assert distribution.percentiles((1.0, 99.0)) == [1_000_000, 1_000_000]


def test_an_empty_distribution_has_zeros() -> None:
    assert Distribution().percentiles((50.0, 99.0)) == [0.0, 0.0]
    assert Distribution().deviation == 0.0
