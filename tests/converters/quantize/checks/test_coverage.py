"""The used share of a range and the share of clipped values equal the shares that are counted from all values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.graph.model import Quantization
from arenite.converters.quantize.calibration.histogram import Histogram
from arenite.converters.quantize.calibration.observations import TensorStats, observe
from arenite.converters.quantize.checks.coverage import (
    ScaleRange,
    coverage,
    quantized_ranges,
    range_of,
    tensor_coverage,
)
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.tflite.reader import parse
from tests.converters.quantize.trained_models import classifier, dataset, samples
from tests.example_count import example_count


def stats(values: np.ndarray) -> TensorStats:
    """Return the statistics of a tensor with ``values``."""
    histogram = Histogram()
    histogram.add(values, float(np.abs(values).max()))
    none = np.zeros(0)
    rms = float(np.sqrt(np.mean(values.astype(np.float64) ** 2)))
    low, high = float(values.min()), float(values.max())
    return TensorStats(
        0,
        "t",
        values.size,
        low,
        high,
        float(values.mean()),
        rms,
        histogram.exponent,
        histogram.bins,
        none,
        none,
        none,
    )


@settings(max_examples=example_count(40), deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 3), st.floats(-2, 2))
def test_the_estimated_clipped_share_and_sqnr_are_near_those_of_all_values(
    seed: int, spread: float, center: float
) -> None:
    values = (np.random.default_rng(seed).normal(size=4000) * spread + center).astype(np.float32)
    scale = ScaleRange(-1.0, 1.55, 256)
    result = tensor_coverage(stats(values), scale)
    outside = (values < scale.low - scale.step / 2) | (values > scale.high + scale.step / 2)
    assert result.clipped == pytest.approx(outside.mean(), abs=0.005)
    quantized = np.clip(np.round((values - scale.low) / scale.step), 0, 255) * scale.step + scale.low
    expected_db = 10 * np.log10(np.mean(values.astype(float) ** 2) / np.mean((values - quantized) ** 2))
    assert result.sqnr_db == pytest.approx(expected_db, abs=0.6)


def test_the_observed_range_clips_no_value() -> None:
    values = np.random.default_rng(0).normal(size=1000)
    s = stats(values)
    result = tensor_coverage(s, ScaleRange(s.low, s.high, 256))
    assert result.clipped == 0 and result.used == pytest.approx(1)


def test_an_outlier_gives_a_warning() -> None:
    values = np.random.default_rng(0).random(20000)
    values[7] = 40.0
    s = stats(values)
    result = tensor_coverage(s, ScaleRange(0.0, 40.0, 256), "CONV_2D")
    # Nearly all values use less than 3 % of the range, and the outlier is about 40 times as large as they are.
    assert result.bulk < 0.03 and result.outlier > 35 and result.used == pytest.approx(1)
    assert result.warning is not None and "'t'" in result.warning and "times as large" in result.warning
    assert tensor_coverage(stats(values[100:]), ScaleRange(0.0, 1.0, 256)).warning is None


def test_a_single_clipped_value_is_counted() -> None:
    values = np.append(np.linspace(-1, 1, 999), 1.3)
    result = tensor_coverage(stats(values), ScaleRange(-1.0, 1.0, 256))
    assert result.clipped == pytest.approx(1 / 1000, rel=0.05)


def test_range_of_returns_the_range_of_a_quantization() -> None:
    assert range_of(Quantization((0.5,), (-128,)), "int8") == ScaleRange(0.0, 127.5, 256)
    assert range_of(Quantization((0.5,), (0,)), "int16").levels == 65536


def test_coverage_lists_every_tensor_in_order() -> None:
    x, labels = samples(60, 3)
    model = parse(classifier())
    observations = observe(classifier(), dataset(x, labels))
    ranges = quantized_ranges(model, load_recipe("int8"), observations)
    results = coverage(model, observations, ranges)
    assert [c.made_by for c in results] == ["input", *["FULLY_CONNECTED"] * 3, "SOFTMAX"]
    for c in results[:-1]:
        assert c.clipped == 0 and c.used > 0.98 and c.sqnr_db > 25, c
    assert results[-1].low == 0 and results[-1].high == pytest.approx(255 / 256)
    assert results[0].to_json()["sqnr_db"]["kind"] == "estimated"
