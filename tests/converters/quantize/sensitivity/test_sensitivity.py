"""Each layer quantised alone: the fragile one is found, and figures are those of the models."""

import json

import numpy as np
import pytest

from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.scoring.model_runner import run_dataset
from arenite.converters.quantize.sensitivity.sensitivity import sensitivity, single_layer_recipe, sqnr
from tests.converters.quantize.trained_models import dataset, dense_net, samples, train


def test_the_fragile_layer_comes_first() -> None:
    weights = train(*samples(1000, 1), (32, 24))
    # Half of the second layer's inputs count a hundred times as much as the other half, and weigh as much less in the
    # first layer: the float model is the same, but a row of the second layer no longer has one scale that suits.
    factors = np.where(np.arange(32) % 2, 100.0, 1.0).astype(np.float32)
    weights[0], weights[1] = weights[0] / factors[:, None], weights[1] * factors
    model = dense_net(weights)
    data = dataset(*samples(200, 2))
    found = sensitivity(
        model, load_recipe("int8"), observe(model, data), data, kinds=("int8", "int4", "int16")
    )
    assert found.base.value > 0.9
    by_layer = {s.layer: s.sqnr_db for s in found.layers if s.kind == "int4"}
    assert set(by_layer) == {0, 1, 2}
    assert found.worst("int4")[0].layer == 1 and by_layer[1] < by_layer[2] - 10
    assert found.worst("int4")[0].drop > 0.05
    for layer in (0, 1, 2):
        wide = next(s for s in found.layers if (s.layer, s.kind) == (layer, "int16"))
        assert wide.sqnr_db >= by_layer[layer]
    int8 = next(s for s in found.layers if (s.layer, s.kind) == (2, "int8"))
    assert int8.weight_bytes == 8 * 24 + 4 * 8 and int8.weight_bytes_before == 4 * (8 * 24 + 8)
    assert {s.op for s in found.layers} == {"FULLY_CONNECTED", "SOFTMAX"}
    json.dumps(found.to_json())


def test_figures_are_those_of_the_model_with_that_layer_quantised() -> None:
    model = dense_net(train(*samples(1000, 1), (16,)))
    data = dataset(*samples(60, 2))
    seen = observe(model, data)
    said: list[tuple[str, int, int]] = []
    found = sensitivity(
        model,
        load_recipe("int8"),
        seen,
        data,
        kinds=("int4",),
        samples=None,
        progress=lambda *now: said.append(now),
    )
    assert said[0] == ("float model", 0, 3) and said[-1] == ("", 3, 3)
    made = quantize(model, single_layer_recipe(load_recipe("int8"), "int4"), seen, only=[0])
    right = [
        np.argmax(o) == y
        for o, y in zip(run_dataset(made.flatbuffer, data), data.labels, strict=True)  # type: ignore[arg-type]
    ]
    first = next(s for s in found.layers if s.layer == 0)
    assert found.base.value - first.drop == pytest.approx(np.mean(right))


def test_sqnr() -> None:
    one = [np.array([1.0, 0.0]), np.array([0.0, 1.0])]
    assert sqnr(one, one) == 150
    assert sqnr(one, [np.array([1.1, 0.0]), np.array([0.0, 1.0])]) == pytest.approx(10 * np.log10(2 / 0.01))
