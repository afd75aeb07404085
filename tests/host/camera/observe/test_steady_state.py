"""Tests of ``find_steady_state``, which cuts off the beginning of series by MSER (marginal standard error rule)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.host.camera.observe.steady_state import BATCHES, MIN_VALUES, find_steady_state, mser
from tests.example_count import example_count


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=MIN_VALUES + 1, max_size=BATCHES - 1))
@settings(max_examples=example_count(100), deadline=None)
def test_mser_agrees_with_its_definition(values: list[float]) -> None:
    """``mser`` averages long series in batches. Here the series are so short that a batch is one value, so the test can
    compute the definition of MSER directly."""
    x = np.array(values)
    errors = [
        float(((x[d:] - x[d:].mean()) ** 2).sum() / (len(x) - d) ** 2) for d in range(len(x) - MIN_VALUES + 1)
    ]
    min_first_half = min(errors[: len(x) // 2 + 1])
    cut = mser(values)
    assert errors[cut] == pytest.approx(
        min(errors) if cut > len(x) // 2 else min_first_half, rel=1e-6, abs=1e-6
    )
    if cut > len(x) // 2:  # a cut in the second half must lower the error to 60 %
        assert min(errors) <= 0.6 * min_first_half + 1e-6


def warming(parts: int, settle: float, rise: float, noise: float, seed: int) -> list[float]:
    """Return ``parts`` temperatures that rise by ``rise`` from 40 °C with the time constant ``settle`` (in values),
    with random noise."""
    t = np.arange(parts)
    return list(40 + rise * (1 - np.exp(-t / settle)) + np.random.default_rng(seed).normal(0, noise, parts))


@pytest.mark.parametrize("seed", range(5))
def test_a_device_that_warms_up_is_steady_when_it_is_warm(seed: int) -> None:
    values = warming(120, 12.0, 30.0, 0.2, seed)
    steady_state = find_steady_state({"temperature": values}, {"temperature": 1.5})
    assert steady_state.begin is not None
    assert 24 <= steady_state.begin <= 60, "after two to five time constants"
    assert np.mean(values[steady_state.begin :]) == pytest.approx(70.0, abs=0.7)


@pytest.mark.parametrize("seed", range(5))
def test_a_device_that_still_warms_up_is_not_steady(seed: int) -> None:
    steady_state = find_steady_state(
        {"temperature": warming(120, 100.0, 30.0, 0.2, seed)}, {"temperature": 1.5}
    )
    assert steady_state.begin is None
    assert steady_state.unsettled == ("temperature",)


@pytest.mark.parametrize("seed", range(5))
def test_the_steady_state_begins_after_a_step(seed: int) -> None:
    """The frame rate falls at value 40 of 120, as if a device throttled, and the steady state begins after that."""
    random = np.random.default_rng(seed)
    values = list(np.where(np.arange(120) < 40, 30.0, 21.0) + random.normal(0, 0.1, 120))
    begin = find_steady_state({"fps": values}, {"fps": 0.02 * 21}).begin
    assert begin is not None
    assert 40 <= begin <= 60, "not before the step; after it, any cut in the first half is right"


def test_a_late_step_is_not_steady() -> None:
    values = [30.0] * 90 + [21.0] * 30
    assert find_steady_state({"fps": values}, {"fps": 0.5}).begin is None


def test_the_slowest_series_decides() -> None:
    series = {"fps": [30.0] * 100, "temperature": warming(100, 8.0, 20.0, 0.1, 0)}
    alone = find_steady_state({"temperature": series["temperature"]}, {}).begin
    assert find_steady_state(series, {}).begin == alone
    assert alone is not None and alone >= 10


def test_changes_below_the_tolerance_are_ignored() -> None:
    values = [50.0 + 0.005 * k for k in range(100)]
    assert find_steady_state({"temperature": values}, {"temperature": 0.0}).begin is None
    assert find_steady_state({"temperature": values}, {"temperature": 2.0}).begin == 0


def test_a_constant_series_is_steady_from_the_start() -> None:
    assert find_steady_state({"fps": [30.0] * 20}, {}).begin == 0
    assert find_steady_state({"fps": [30.0] * (2 * MIN_VALUES - 1)}, {}).unsettled == ("fps",)
    assert find_steady_state({}, {}).begin is None
