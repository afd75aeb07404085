"""Latency buckets and drift figures agree with those that NumPy computes in floating point."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.host.fleet.drift import MAX_COUNT, ks_millionths, psi_millionths
from arenite.host.fleet.latency_histogram import BUCKETS, bucket_of, percentile_us, to_pairs, upper_bound_us
from arenite.host.fleet.observations import DriftReference, Observations, confidence_bin, input_bins

_COUNTS = st.integers(2, 64).flatmap(
    lambda bins: st.tuples(
        st.lists(st.integers(0, MAX_COUNT), min_size=bins, max_size=bins),
        st.lists(st.integers(0, 10_000), min_size=bins, max_size=bins),
    )
)


def test_buckets_are_in_order_without_gaps() -> None:
    for bucket in range(BUCKETS - 1):
        bound = upper_bound_us(bucket)
        assert bucket_of(bound) == bucket
        assert bucket_of(bound + 1) == bucket + 1
    assert bucket_of(2**60) == BUCKETS - 1


@given(st.lists(st.integers(0, 10_000_000), min_size=1, max_size=300), st.integers(1, 100))
def test_percentiles_are_at_most_a_bucket_above_the_exact_ones(latencies: list[int], percent: int) -> None:
    counts = [0] * BUCKETS
    for latency in latencies:
        counts[bucket_of(latency)] += 1
    exact = sorted(latencies)[max(math.ceil(len(latencies) * percent / 100), 1) - 1]
    estimate = percentile_us(counts, percent)
    assert estimate is not None
    assert exact <= estimate <= max(1.25 * exact, exact)
    assert sum(count for _, count in to_pairs(counts)) == len(latencies)


def test_no_latency_has_no_percentile() -> None:
    assert percentile_us([0] * BUCKETS, 99) is None


@given(_COUNTS)
def test_psi_and_ks_are_those_of_floating_point(counts: tuple[list[int], list[int]]) -> None:
    own, reference = (np.array(c, dtype=np.float64) for c in counts)
    p, q = (own + 0.5) / (own + 0.5).sum(), (reference + 0.5) / (reference + 0.5).sum()
    psi = float(((p - q) * np.log(p / q)).sum())
    assert psi_millionths(*counts) == pytest.approx(1e6 * psi, rel=1e-3, abs=100)
    if own.sum() and reference.sum():
        ks = float(np.abs(np.cumsum(own) / own.sum() - np.cumsum(reference) / reference.sum()).max())
        assert ks_millionths(*counts) == pytest.approx(1e6 * ks, abs=2)


def test_drift_of_equal_and_of_disjoint_histograms() -> None:
    assert psi_millionths([10, 20, 30], [10, 20, 30]) == 0
    assert ks_millionths([5, 0], [0, 7]) == 1_000_000
    assert ks_millionths([0, 0], [1, 1]) == 0
    for counts in (([1], [1, 2]), ([-1, 1], [1, 1]), ([], [])):
        with pytest.raises(ValueError, match=r"bins|count"):
            psi_millionths(*counts)


def test_observations_are_counted_in_bins() -> None:
    observations = Observations(DriftReference(((1,) * 16, (1,) * 16), (1, 1, 1)))
    bins = input_bins(np.array([-128, -128, 127, 127], np.int8))
    assert bins == (7, 15)  # the mean is -1 (rounded down), the mean difference from it 127.5
    observations.add(1000, bins, 2, confidence_bin(127))
    fields = observations.to_json()
    assert fields["classes"] == [0, 0, 1]
    assert fields["latency"] == [[bucket_of(1000), 1]]
    assert fields["confidence"][15] == 1
    for wrong in ((1000, (0,), 0, 0), (1000, (0, 16), 0, 0), (1000, (0, 0), 3, 0), (1000, (0, 0), -1, 0)):
        with pytest.raises(IndexError):
            observations.add(*wrong)
