"""Features of very different ranges are scaled in float32 before an input is quantized, other inputs stay integers."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.graph.feature_scaling import scale_features
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.weights.integer_weights import sqnr_db
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.float_models import FloatNet, Samples
from tests.converters.quantize.quantized_runs import run
from tests.firmware.engine.litert_exact import assert_exact

#: The standard deviation and the mean of four features, such as a current in A and a pressure in Pa.
DEVIATIONS = np.array([2e-3, 1.0, 30.0, 4e3])
MEANS = np.array([0.0, -5.0, 900.0, 1e5])


def rows(count: int = 400, seed: int = 0) -> np.ndarray:
    """Return samples of the four features: float32 [count, 4]."""
    return (MEANS + DEVIATIONS * np.random.default_rng(seed).normal(size=(count, 4))).astype(np.float32)


def perceptron(*, folds_scaler: bool) -> Model:
    """Return a network of two layers. Its scaler is part of the first layer, or consists of SUB and DIV."""
    net = FloatNet()
    x = net.input((1, 4), "float32")
    if folds_scaler:
        weights = np.random.default_rng(1).normal(size=(12, 4)) / DEVIATIONS
        layer = [x, net.real(weights), net.real(-weights @ MEANS)]
        hidden = net.layer("FULLY_CONNECTED", layer, (1, 12), "FullyConnectedOptions")
    else:
        scaled = net.layer("SUB", [x, net.real(MEANS[None])], (1, 4), "SubOptions")
        scaled = net.layer("DIV", [scaled, net.real(DEVIATIONS)], (1, 4), "DivOptions")
        hidden = net.dense(scaled, 12)
    return net.model([net.dense(net.layer("RELU", [hidden], (1, 12)), 3)])


def samples_of(values: np.ndarray) -> list[list[np.ndarray]]:
    return [[row[None]] for row in values]


@pytest.mark.parametrize("recipe", ["int8", "int16x8"])
@pytest.mark.parametrize("folds_scaler", [False, True])
def test_features_of_very_different_ranges_lose_little(folds_scaler: bool, recipe: str) -> None:
    source, samples = to_flatbuffer(perceptron(folds_scaler=folds_scaler)), samples_of(rows())
    scaled, notes = scale_features(source, samples)
    assert len(notes) == 1 and "float32" in notes[0]
    expected = run(source, samples)
    np.testing.assert_allclose(run(scaled, samples), expected, atol=2e-3 * np.abs(expected).max())

    def image(flatbuffer: bytes) -> bytes:
        return quantize(flatbuffer, load_recipe(recipe), observe(flatbuffer, Samples(samples))).flatbuffer

    assert sqnr_db(expected, run(image(scaled), samples)) > 30
    if folds_scaler and recipe == "int8":  # LiteRT does not compute the integer division
        assert sqnr_db(expected, run(image(source), samples)) < 10


@pytest.mark.parametrize("folds_scaler", [False, True])
def test_the_image_takes_float32_and_its_c_code_is_exact(folds_scaler: bool) -> None:
    samples = samples_of(rows())
    scaled, _ = scale_features(to_flatbuffer(perceptron(folds_scaler=folds_scaler)), samples)
    image = parse(quantize(scaled, load_recipe("int8"), observe(scaled, Samples(samples))).flatbuffer)
    graph = image.main
    assert graph.tensors[graph.inputs[0]].dtype == "float32"
    assert graph.tensors[graph.outputs[0]].dtype == "int8"
    names = [op.name for op in graph.ops]
    assert names.index("QUANTIZE") == 2  # after SUB and the multiplication or division
    unusual = np.array([[0, 0, 0, 0], [1e38, -1e38, np.inf, -np.inf], [np.nan, 1, 900, 1e5]], np.float32)
    assert_exact([(image, [row[None]]) for row in (*rows(20, seed=2), *unusual)])


def test_similar_features_keep_an_integer_input() -> None:
    values = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32) * np.array(
        [1, 2, 3, 5], np.float32
    )
    net = FloatNet()
    source = net.bytes(net.dense(net.input((1, 4), "float32"), 5))
    assert scale_features(source, samples_of(values)) == (source, ())


def test_features_that_matter_little_keep_an_integer_input() -> None:
    """The dark corners of pictures have small values, but the layer gives them no large weights."""
    values = np.random.default_rng(0).uniform(size=(200, 16)).astype(np.float32)
    values[:, ::4] *= 0.004
    net = FloatNet()
    source = net.bytes(net.dense(net.input((1, 16), "float32"), 5))
    assert scale_features(source, samples_of(values)) == (source, ())


def test_one_factor_for_all_features_stays_in_the_integer_graph() -> None:
    net = FloatNet()
    x = net.input((1, 4), "float32")
    scaled = net.layer("MUL", [x, net.real([1 / 255])], (1, 4), "MulOptions")
    source = net.bytes(net.dense(scaled, 5))
    values = np.random.default_rng(0).uniform(0, 255, (200, 4)).astype(np.float32)
    assert scale_features(source, samples_of(values)) == (source, ())


def test_all_layers_that_read_the_input_get_the_scaled_features() -> None:
    net = FloatNet()
    x = net.input((1, 4), "float32")
    outs = []
    for seed in (1, 2):
        weights = np.random.default_rng(seed).normal(size=(3, 4)) / DEVIATIONS
        layer = [x, net.real(weights), net.real(-weights @ MEANS)]
        outs.append(net.layer("FULLY_CONNECTED", layer, (1, 3), "FullyConnectedOptions"))
    source = net.bytes(net.layer("ADD", outs, (1, 3), "AddOptions"))
    samples = samples_of(rows())
    scaled, notes = scale_features(source, samples)
    assert len(notes) == 1
    expected = run(source, samples)
    np.testing.assert_allclose(run(scaled, samples), expected, atol=2e-3 * np.abs(expected).max())
