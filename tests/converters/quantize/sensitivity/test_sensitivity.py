"""The sensitivity analysis quantizes each layer alone, finds the most sensitive layer, and reports the figures of the
model in which only that layer is quantized."""

import json

import numpy as np
import pytest

from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.scoring.model_runner import run_dataset
from arenite.converters.quantize.sensitivity.sensitivity import sensitivity, single_layer_recipe, sqnr
from tests.converters.quantize.trained_models import dataset, dense_net, samples, train


def test_the_most_sensitive_layer_comes_first() -> None:
    weights = train(*samples(1000, 1), (32, 24))
    # Half of the second layer's weights are multiplied by 100, and the weights that compute the inputs of this half are
    # divided by 100. The float model's outputs do not change, but the weights in a row of the second layer now differ
    # too much for one quantization scale.
    factors = np.where(np.arange(32) % 2, 100.0, 1.0).astype(np.float32)
    weights[0], weights[1] = weights[0] / factors[:, None], weights[1] * factors
    model = dense_net(weights)
    data = dataset(*samples(200, 2))
    result = sensitivity(
        model, load_recipe("int8"), observe(model, data), data, kinds=("int8", "int4", "int16")
    )
    assert result.base.value > 0.9
    by_layer = {s.layer: s.sqnr_db for s in result.layers if s.kind == "int4"}
    assert set(by_layer) == {0, 1, 2}
    assert result.worst("int4")[0].layer == 1 and by_layer[1] < by_layer[2] - 10
    assert result.worst("int4")[0].drop > 0.05
    for layer in (0, 1, 2):
        int16 = next(s for s in result.layers if (s.layer, s.kind) == (layer, "int16"))
        assert int16.sqnr_db >= by_layer[layer]
    int8 = next(s for s in result.layers if (s.layer, s.kind) == (2, "int8"))
    assert int8.weight_bytes == 8 * 24 + 4 * 8 and int8.weight_bytes_before == 4 * (8 * 24 + 8)
    assert {s.op for s in result.layers} == {"FULLY_CONNECTED", "SOFTMAX"}
    json.dumps(result.to_json())


def test_figures_equal_those_of_a_model_with_one_quantized_layer() -> None:
    model = dense_net(train(*samples(1000, 1), (16,)))
    data = dataset(*samples(60, 2))
    observations = observe(model, data)
    calls: list[tuple[str, int, int]] = []
    result = sensitivity(
        model,
        load_recipe("int8"),
        observations,
        data,
        kinds=("int4",),
        samples=None,
        progress=lambda *progress: calls.append(progress),
    )
    # Three steps: the float model, and each of the two layers in int4.
    assert calls[0] == ("float model", 0, 3) and calls[-1] == ("", 3, 3)
    quantized = quantize(model, single_layer_recipe(load_recipe("int8"), "int4"), observations, only=[0])
    is_correct = [
        np.argmax(o) == y
        for o, y in zip(run_dataset(quantized.flatbuffer, data), data.labels, strict=True)  # type: ignore[arg-type]
    ]
    first = next(s for s in result.layers if s.layer == 0)
    assert result.base.value - first.drop == pytest.approx(np.mean(is_correct))


def test_the_sqnr_has_its_usual_definition_and_is_at_most_150_db() -> None:
    outputs = [np.array([1.0, 0.0]), np.array([0.0, 1.0])]
    assert sqnr(outputs, outputs) == 150  # the upper limit in dB, because the error is zero
    assert sqnr(outputs, [np.array([1.1, 0.0]), np.array([0.0, 1.0])]) == pytest.approx(
        10 * np.log10(2 / 0.01)
    )
