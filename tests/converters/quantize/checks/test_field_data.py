"""Tests of the check of field data (data from the place of use). If such data are outside the calibrated ranges,
accuracy falls and a warning names the tensor."""

import json

import numpy as np
import pytest

from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.checks.clip_tensor import clip_tensor_values
from arenite.converters.quantize.checks.field_data import check_data
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.scoring.model_runner import run_dataset
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.trained_models import classifier, dataset, samples


def test_a_louder_sensor_clips_and_the_warning_names_the_input() -> None:
    """The model has no biases, so a gain changes no decision in float32. All loss comes from the scales."""
    model = classifier()
    calibration = observe(model, dataset(*samples(200, 5)))
    gain = np.where(np.arange(400) % 2, 1.0, 6.0)
    field = dataset(*samples(400, 6, gain=gain), loud=gain > 1)
    recipe = load_recipe("int8")
    int8 = quantize(model, recipe, calibration).flatbuffer
    report = check_data(model, recipe, calibration, field, quantized=int8)
    assert report.quantized is not None and report.together is not None and not report.passed
    loss = report.score.value - report.quantized.value
    assert loss > 0.03  # more than 3 points of accuracy
    input_clipping = next(c for c in report.clipped if c.field.made_by == "input")
    # In the loud half of the samples, all values that were above 1/6 before the gain of 6 are clipped.
    x = np.stack([s[0] for s in field.inputs])
    assert (
        input_clipping.field.clipped == pytest.approx((x > 1.002).mean(), abs=1e-3)
        and input_clipping.calibration.clipped == 0
    )
    assert input_clipping.loss is not None and input_clipping.loss == pytest.approx(loss, abs=0.04)
    warning = next(w for w in report.warnings if "input" in w)
    assert (
        f"clip {input_clipping.field.clipped:.2%}" in warning
        and f"{100 * input_clipping.loss:.1f} points of accuracy" in warning
    )
    assert (
        report.quantized.slices["loud"]["True"].value < report.quantized.slices["loud"]["False"].value - 0.05
    )
    json.dumps(report.to_json())


def test_data_like_the_calibration_data_give_no_warning() -> None:
    model = classifier()
    calibration = observe(model, dataset(*samples(500, 5)))
    report = check_data(model, load_recipe("int8"), calibration, dataset(*samples(100, 9)))
    assert report.passed and not report.clipped and report.together is None, report.warnings


def test_a_percentile_recipe_that_clips_gives_no_warning() -> None:
    model = classifier()
    calibration = observe(model, dataset(*samples(500, 5)))
    report = check_data(model, load_recipe("int8_percentile"), calibration, dataset(*samples(300, 9)))
    assert report.passed, report.warnings


def test_a_warning_states_the_factor_of_wrongly_scaled_data() -> None:
    model = classifier()
    calibration = observe(model, dataset(*samples(200, 5)))
    x, labels = samples(100, 9)
    report = check_data(model, load_recipe("int8"), calibration, dataset(x / 255, labels))
    assert any("0.4% of the scale's range" in w for w in report.warnings)
    report = check_data(model, load_recipe("int8"), calibration, dataset(x * 255, labels))
    assert any("255.0 times as large" in w for w in report.warnings)


def test_without_labels_the_loss_is_measured_as_agreement() -> None:
    model = classifier()
    calibration = observe(model, dataset(*samples(200, 5)))
    x, _ = samples(200, 6, gain=np.full(200, 6.0))
    report = check_data(model, load_recipe("int8"), calibration, dataset(x, None), max_tested=1)
    assert report.score.metric == "agreement" and report.score.value == 1
    assert sum(c.loss is not None for c in report.clipped) == 1
    assert any("points of agreement" in w for w in report.warnings)


@pytest.mark.parametrize("index", [0, 3, -1])
def test_the_layers_after_a_clipped_tensor_read_the_clipped_values(index: int) -> None:
    model = parse(classifier())
    g = model.main
    index = g.outputs[0] if index < 0 else index
    data = dataset(*samples(5, 1))
    low, high = 0.2, 0.6
    clipped = run_dataset(to_flatbuffer(clip_tensor_values(model, index, low, high)), data)
    if index == 0:
        narrowed = dataset(np.clip(np.concatenate([s[0] for s in data.inputs]), low, high), None)
        assert np.array_equal(np.stack(clipped), np.stack(run_dataset(classifier(), narrowed)))
    elif index == g.outputs[0]:
        plain = run_dataset(classifier(), data)
        assert np.array_equal(np.stack(clipped), np.clip(np.stack(plain), np.float32(low), np.float32(high)))
    else:
        assert not np.array_equal(np.stack(clipped), np.stack(run_dataset(classifier(), data)))
