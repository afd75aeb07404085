"""Calibrators choose the range of values that a quantized tensor represents. These tests use distributions whose best
range is known or can be computed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.quantize.calibration.calibrators import CALIBRATORS, check_calibrator, choose_range
from arenite.converters.quantize.calibration.histogram import Histogram
from arenite.converters.quantize.calibration.observations import TensorStats
from arenite.errors import UsageError
from tests.example_count import example_count


def _stats(values: np.ndarray) -> TensorStats:
    """Return the statistics of a tensor with ``values``."""
    values = values.astype(np.float32)
    h = Histogram()
    h.add(values, float(np.abs(values).max()))
    empty = np.zeros(0)
    return TensorStats(
        0, "t", values.size, float(values.min()), float(values.max()), 0.0, 0.0, h.exponent, h.bins,
        empty, empty, empty,
    )  # fmt: skip


def _error(values: np.ndarray, low: float, high: float, levels: int = 256) -> float:
    """Return the mean squared error of ``values`` quantized to ``levels`` steps from ``low`` to ``high``."""
    step = (high - low) / (levels - 1)
    nearest = np.clip(np.rint((values - low) / step), 0, levels - 1) * step + low
    return float(np.mean((values - nearest) ** 2))


@settings(max_examples=example_count(40), deadline=None)
@given(
    st.lists(st.floats(-1000, 1000, width=32), min_size=1, max_size=60),
    st.sampled_from(sorted(CALIBRATORS)),
    st.sampled_from([256, 65535]),
)
def test_ranges_contain_zero_and_do_not_exceed_the_observed_range(
    values: list[float], name: str, levels: int
) -> None:
    array = np.array(values, np.float32)
    low, high = choose_range(_stats(array), levels, name, {})
    assert min(array.min(), 0) <= low <= 0 <= high <= max(array.max(), 0)


def test_minmax_is_the_observed_range() -> None:
    assert choose_range(_stats(np.array([-1.5, 0.5, 7.25])), 256, "minmax", {}) == (-1.5, 7.25)


def test_percentile_leaves_out_outliers() -> None:
    values = np.concatenate([np.linspace(-1, 1, 9998), [-50.0, 50.0]])
    low, high = choose_range(_stats(values), 256, "percentile", {"percentile": 99.9})
    assert low == pytest.approx(-1, abs=0.05)
    assert high == pytest.approx(1, abs=0.05)
    one_sided = np.concatenate([np.linspace(0, 1, 9990), np.full(10, 50.0)])
    assert choose_range(_stats(one_sided), 256, "percentile", {"percentile": 99.9})[1] == pytest.approx(
        1, abs=0.05
    )
    assert choose_range(_stats(one_sided), 256, "percentile", {"percentile": 99.91})[1] == 50.0


@pytest.mark.parametrize("one_sided", [False, True])
def test_mse_has_half_the_error_of_minmax_and_nearly_the_smallest_error_of_all_ranges(
    one_sided: bool,
) -> None:
    values = np.random.default_rng(0).laplace(size=20000)
    values = np.abs(values) if one_sided else values
    low, high = choose_range(_stats(values), 16, "mse", {})
    error = _error(values, low, high, 16)
    assert error < 0.5 * _error(values, min(values.min(), 0), values.max(), 16)
    best_error = min(
        _error(values, values.min() * a if not one_sided else 0, values.max() * b, 16)
        for a in np.linspace(0.2, 1, 30)
        for b in np.linspace(0.2, 1, 30)
    )
    assert error < 1.02 * best_error


def test_entropy_clips_outliers_and_keeps_a_uniform_distribution() -> None:
    rng = np.random.default_rng(0)
    body = np.abs(rng.normal(size=50000))
    low, high = choose_range(_stats(np.append(body, [40.0, 60.0])), 256, "entropy", {})
    assert low == 0
    assert 3 < high < 12
    uniform = rng.random(50000)
    assert choose_range(_stats(uniform), 256, "entropy", {})[1] > 0.9


def test_entropy_keeps_the_values_beside_very_frequent_ones() -> None:
    """A plain background gives each channel one very frequent value. The values of the foreground must not be
    clipped."""
    rng = np.random.default_rng(2)
    background = np.repeat(rng.random(8) * 0.5, 5000)
    foreground = np.abs(rng.normal(size=4000)) * 2
    _, high = choose_range(_stats(np.concatenate([background, foreground])), 256, "entropy", {})
    assert np.mean(foreground > high) < 0.02


def test_unknown_calibrators_and_parameters_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="no calibrator 'magic'"):
        check_calibrator("magic", {})
    with pytest.raises(UsageError, match="no parameter 'share'"):
        check_calibrator("percentile", {"share": 1})
    with pytest.raises(UsageError, match="percentile is 101"):
        check_calibrator("percentile", {"percentile": 101})
