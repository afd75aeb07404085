"""Before quantization, the channels of a tensor get more equal ranges (balancing), and logits before a softmax are
shifted by a common term. Both keep the outputs of the float model and make the int8 model more exact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.quantize.calibration.observations import Observations, observe
from arenite.converters.quantize.checks.field_data import check_data
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import Recipe, load_recipe
from arenite.converters.quantize.sensitivity.layer_errors import layer_errors
from arenite.converters.quantize.sensitivity.sensitivity import single_layer_recipe
from arenite.converters.quantize.weights.balanced_model import balanced_model
from arenite.converters.tflite.litert.interpreter import run_outputs, run_tensor_values
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.float_models import FloatNet, samples_for
from tests.converters.quantize.quantized_runs import run

PLAIN = load_recipe("int8")
BALANCED = replace(PLAIN, balance=True)


def uneven(*, relu: bool = True) -> Model:
    """Return two layers with channels of very different ranges between them."""
    n = FloatNet(3)
    x = n.input((1, 8), "float32")
    factors = np.logspace(-3, 0, 12).astype(np.float32)
    weights, bias = n.rng.normal(size=(12, 8)) * factors[:, None], n.rng.normal(size=12) * factors
    hidden = _dense(n, x, weights, bias, relu)
    return n.model([_dense(n, hidden, n.rng.normal(size=(6, 12)) / factors, n.rng.normal(size=6), False)])


def _dense(n: FloatNet, x: int, weights: np.ndarray, bias: np.ndarray, relu: bool) -> int:
    """Add a fully connected layer, with a RELU if ``relu`` is true, and return its output."""
    inputs, shape = [x, n.real(weights), n.real(bias)], (1, len(bias))
    activation = int(relu)
    return n.layer(
        "FULLY_CONNECTED", inputs, shape, "FullyConnectedOptions", fused_activation_function=activation
    )


def classifier(spread: float, *, logits_too: bool = False, relu: bool = False) -> Model:
    """Return a layer and a softmax. The logits share a large term that depends on the input. ``spread`` scales them."""
    n = FloatNet(4)
    weights = spread * (n.rng.normal(size=(5, 8)) + 4)
    y = _dense(n, n.input((1, 8), "float32"), weights, n.rng.normal(size=5), relu)
    probabilities = n.layer("SOFTMAX", [y], (1, 5), "SoftmaxOptions", beta=1.0)
    return n.model([probabilities, y] if logits_too else [probabilities])


def observed(model: Model, count: int = 128) -> tuple[bytes, Observations]:
    """Return the file of the model and its observations on ``count`` samples."""
    flatbuffer = to_flatbuffer(model)
    return flatbuffer, observe(flatbuffer, samples_for(model, count))


def int8_error(model: Model, recipe: Recipe) -> float:
    """Return the mean difference between the int8 and the float outputs on samples that were not used before."""
    flatbuffer, observations = observed(model)
    others = samples_for(model, 200, seed=8).inputs
    quantized = quantize(flatbuffer, recipe, observations).flatbuffer
    return float(np.abs(run(quantized, others) - run(flatbuffer, others)).mean())


@pytest.mark.parametrize("model", [uneven(), uneven(relu=False), classifier(1.0)])
def test_the_outputs_stay_the_same_and_int8_loses_less(model: Model) -> None:
    flatbuffer, observations = observed(model)
    balanced = balanced_model(flatbuffer, observations)
    assert balanced.flatbuffer != flatbuffer
    for (before,), (after,) in zip(
        run_outputs(flatbuffer, observations.inputs),
        run_outputs(balanced.flatbuffer, observations.inputs),
        strict=True,
    ):
        assert np.allclose(before, after, rtol=1e-4, atol=1e-5)
    assert int8_error(model, BALANCED) < 0.8 * int8_error(model, PLAIN)


def test_the_range_of_a_channel_becomes_the_square_root_of_its_share_of_the_largest_range() -> None:
    model = uneven()
    flatbuffer, observations = observed(model)
    hidden = model.main.ops[0].outputs[0]
    before = observations.tensors[hidden].channel_high
    assert observations.tensors[hidden].low == 0 and before.min() < before.max() / 256
    after = balanced_model(flatbuffer, observations).observations.tensors[hidden].channel_high
    assert after.max() == pytest.approx(before.max(), rel=1e-5)
    shares = before / before.max()
    # A channel grows by a factor of 16 at most.
    assert after / after.max() == pytest.approx(np.minimum(np.sqrt(shares), 16 * shares), rel=1e-4)


def test_shifted_logits_have_a_largest_value_near_zero() -> None:
    model = classifier(1.0)
    flatbuffer, observations = observed(model)
    logits = model.main.ops[0].outputs[0]
    before = observations.tensors[logits]
    after = balanced_model(flatbuffer, observations).observations.tensors[logits]
    assert after.high - after.low < 0.7 * (before.high - before.low)
    assert after.high < 0.3 * before.high


@pytest.mark.parametrize(
    "model", [classifier(0.05), classifier(1.0, logits_too=True), classifier(1.0, relu=True)]
)
def test_logits_with_a_small_range_an_activation_or_another_reader_are_not_shifted(model: Model) -> None:
    flatbuffer, observations = observed(model)
    balanced = balanced_model(flatbuffer, observations)
    assert balanced.flatbuffer == flatbuffer and balanced.observations is observations


def test_layers_are_compared_with_the_balanced_float_model() -> None:
    model = uneven()
    flatbuffer, observations = observed(model)
    quantized = quantize(flatbuffer, BALANCED, observations)
    assert quantized.source == balanced_model(flatbuffer, observations).flatbuffer
    assert quantize(flatbuffer, PLAIN, observations).source == flatbuffer
    samples = samples_for(model, 32).inputs
    errors_from_balanced, errors_from_original = (
        layer_errors(source, quantized.flatbuffer, quantized.tensors, samples)
        for source in (quantized.source, flatbuffer)
    )
    assert len(errors_from_balanced) == len(model.main.ops)
    assert errors_from_balanced[0].sqnr_db > 30 > 15 > errors_from_original[0].sqnr_db


def test_observations_keep_the_number_and_the_hash_of_all_samples() -> None:
    flatbuffer, observations = observed(uneven(), 300)  # more than are stored
    balanced = balanced_model(flatbuffer, observations)
    assert balanced.observations.samples == observations.samples == 300
    assert balanced.observations.data_sha256 == observations.data_sha256
    assert parse(balanced.flatbuffer).main.ops == parse(flatbuffer).main.ops


def test_field_data_are_compared_with_the_scales_of_the_image() -> None:
    model = classifier(1.0)
    flatbuffer, observations = observed(model)
    quantized = quantize(flatbuffer, BALANCED, observations)
    graph = parse(quantized.flatbuffer).main
    inputs: list[Any] = samples_for(model, 20, seed=7).inputs
    report = check_data(flatbuffer, BALANCED, observations, Dataset(inputs, None, {}, "", Path()))
    logits = model.main.ops[0].outputs[0]
    (tensor,) = [t for t in report.tensors if t.index == logits]
    stored = graph.tensors[quantized.tensors[logits]]
    assert tensor.low == pytest.approx((-128 - stored.zero_point) * stored.scale)
    values = run_tensor_values(quantized.source, inputs, [logits])
    assert tensor.seen_high == pytest.approx(max(float(v[logits].max()) for v in values), rel=1e-5)


def test_the_recipe_for_a_single_layer_has_no_balancing_and_no_ranges_of_a_balanced_model() -> None:
    """The sensitivity analysis compares the layer with the model that the user gave, which is not balanced."""
    logits = classifier(1.0).main.tensors[classifier(1.0).main.ops[0].outputs[0]].name
    recipe = single_layer_recipe(replace(BALANCED, ranges={logits: (-9.0, 1.0)}), "int8")
    assert not recipe.balance and not recipe.ranges
    recipe = single_layer_recipe(replace(PLAIN, ranges={logits: (-9.0, 1.0)}), "int8")
    assert recipe.ranges
