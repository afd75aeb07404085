"""The check of a quantized model finds data outside the range of its scales."""

import numpy as np
import pytest

from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.checks.saturation import check_quantized_model, saturation
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from tests.converters.quantize.trained_models import classifier, dataset, samples


@pytest.fixture(scope="module")
def int8() -> bytes:
    """Return the classifier, quantized to int8."""
    model = classifier()
    return quantize(model, load_recipe("int8"), observe(model, dataset(*samples(200, 5)))).flatbuffer


def test_a_louder_sensor_gives_a_warning_for_the_input(int8: bytes) -> None:
    calibration = dataset(*samples(200, 5))
    field = dataset(*samples(200, 6, gain=np.full(200, 3.0)))
    tensors, warnings = check_quantized_model(int8, field, calibration)
    x = np.concatenate([s[0] for s in field.inputs])
    first = tensors[0]
    assert first.made_by == "input" and first.at_high == pytest.approx((x > 1.002).mean(), abs=1e-3)
    warning = next(w for w in warnings if "input tensor 0" in w)
    assert f"{first.share:.2%}" in warning and "are outside it (calibration data: 0.00%)" in warning
    assert sum("FULLY_CONNECTED" in w for w in warnings) >= 1
    assert not any("SOFTMAX" in w for w in warnings)


def test_data_like_the_calibration_data_give_no_warning(int8: bytes) -> None:
    field = dataset(*samples(150, 9))
    assert check_quantized_model(int8, field, dataset(*samples(200, 5)))[1] == ()
    assert check_quantized_model(int8, field)[1] == ()
    # Half of the values after a RELU are zero, the lowest integer. That is no saturation.
    relu = [s for s in saturation(int8, field) if s.made_by == "FULLY_CONNECTED" and s.low == 0]
    assert relu and all(s.share < 0.001 for s in relu)
