"""Shares of ranges and of clipped values against counts of the values themselves."""

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


def stats(values: np.ndarray) -> TensorStats:
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


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 3), st.floats(-2, 2))
def test_clipped_share_and_error_are_those_of_the_values(seed: int, spread: float, centre: float) -> None:
    values = (np.random.default_rng(seed).normal(size=4000) * spread + centre).astype(np.float32)
    held = ScaleRange(-1.0, 1.55, 256)
    made = tensor_coverage(stats(values), held)
    outside = (values < held.low - held.step / 2) | (values > held.high + held.step / 2)
    assert made.clipped == pytest.approx(outside.mean(), abs=0.005)
    quantized = np.clip(np.round((values - held.low) / held.step), 0, 255) * held.step + held.low
    true = 10 * np.log10(np.mean(values.astype(float) ** 2) / np.mean((values - quantized) ** 2))
    assert made.sqnr_db == pytest.approx(true, abs=0.6)


def test_nothing_is_clipped_by_its_own_range() -> None:
    values = np.random.default_rng(0).normal(size=1000)
    s = stats(values)
    made = tensor_coverage(s, ScaleRange(s.low, s.high, 256))
    assert made.clipped == 0 and made.used == pytest.approx(1)


def test_an_outlier_makes_the_bulk_small_and_is_told() -> None:
    values = np.random.default_rng(0).random(20000)
    values[7] = 40.0
    s = stats(values)
    made = tensor_coverage(s, ScaleRange(0.0, 40.0, 256), "CONV_2D")
    assert made.bulk < 0.03 and made.outlier > 35 and made.used == pytest.approx(1)
    assert made.warning is not None and "'t'" in made.warning and "times as large" in made.warning
    assert tensor_coverage(stats(values[100:]), ScaleRange(0.0, 1.0, 256)).warning is None


def test_one_value_outside_counts() -> None:
    values = np.append(np.linspace(-1, 1, 999), 1.3)
    made = tensor_coverage(stats(values), ScaleRange(-1.0, 1.0, 256))
    assert made.clipped == pytest.approx(1 / 1000, rel=0.05)


def test_ranges_of_quantisations() -> None:
    assert range_of(Quantization((0.5,), (-128,)), "int8") == ScaleRange(0.0, 127.5, 256)
    assert range_of(Quantization((0.5,), (0,)), "int16").levels == 65536


def test_every_tensor_of_a_model_in_order() -> None:
    x, labels = samples(60, 3)
    model = parse(classifier())
    seen = observe(classifier(), dataset(x, labels))
    ranges = quantized_ranges(model, load_recipe("int8"), seen)
    made = coverage(model, seen, ranges)
    assert [c.made_by for c in made] == ["input", *["FULLY_CONNECTED"] * 3, "SOFTMAX"]
    for c in made[:-1]:
        assert c.clipped == 0 and c.used > 0.98 and c.sqnr_db > 25, c
    assert made[-1].low == 0 and made[-1].high == pytest.approx(255 / 256)
    assert made[0].to_json()["sqnr_db"]["kind"] == "estimated"
