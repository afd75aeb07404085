"""A bottleneck, such as the code of an auto-encoder, is the values between two layers without an activation in
between. The first layer multiplies these values by a matrix, and the second layer by the inverse matrix (a
rotation). The outputs of the float model stay the same, and the int8 model becomes more exact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.weights.bottleneck_rotation import rotate_bottlenecks
from arenite.converters.tflite.litert.interpreter import run_outputs
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.float_models import FloatNet, samples_for
from tests.converters.quantize.quantized_runs import run

PLAIN = load_recipe("int8")


def dense_bottleneck(*, relu: bool = False, zeros: int = 0, channels: int = 6) -> Model:
    """Return two dense layers. The channels in between are strongly correlated, and the outputs cancel most of what
    they have in common. ``zeros`` is the number of zeros in each row of the first layer."""
    n = FloatNet(6)
    common = n.rng.normal(size=(1, 16))
    first = 4 * common + n.rng.normal(size=(channels, 16))
    first[:, :zeros] = 0
    second = n.rng.normal(size=(8, channels))
    second -= second.mean(axis=1, keepdims=True) * 0.95
    x = n.input((1, 16), "float32")
    z = n.layer(
        "FULLY_CONNECTED", [x, n.real(first), n.random(channels)], (1, channels), "FullyConnectedOptions",
        fused_activation_function=int(relu),
    )  # fmt: skip
    weights = [z, n.real(second), n.random(8)]
    return n.model([n.layer("FULLY_CONNECTED", weights, (1, 8), "FullyConnectedOptions")])


def pointwise_bottleneck() -> Model:
    """Return a 3x3 convolution without an activation, and a 1x1 convolution with stride 2."""
    n = FloatNet(7)
    a = n.conv(n.input((1, 6, 6, 3), "float32"), 5, relu=False)
    data = n.tensors[n.ops[0].inputs[1]].data
    assert data is not None
    data += 0.5 * n.rng.normal(size=(1, *data.shape[1:]))
    weights = n.rng.normal(size=(7, 1, 1, 5))
    b = n.layer(
        "CONV_2D", [a, n.real(weights - weights.mean(axis=3, keepdims=True)), n.random(7)], (1, 3, 3, 7),
        "Conv2DOptions", stride_h=2, stride_w=2, fused_activation_function=1, padding=0,
    )  # fmt: skip
    return n.model([b])


@pytest.mark.parametrize("model", [dense_bottleneck(), pointwise_bottleneck()])
def test_outputs_stay_and_int8_loses_less(model: Model) -> None:
    flatbuffer, samples = to_flatbuffer(model), samples_for(model, 128)
    result = rotate_bottlenecks(model, flatbuffer, samples.inputs)
    assert result.rotated == {model.main.ops[0].outputs[0]}
    rotated = to_flatbuffer(result.model)
    others = samples_for(model, 200, seed=8).inputs
    for (before,), (after,) in zip(
        run_outputs(flatbuffer, others), run_outputs(rotated, others), strict=True
    ):
        assert np.allclose(before, after, rtol=1e-4, atol=1e-4 * np.abs(before).max())

    def error(source: bytes) -> float:
        """Return the error of int8 activations: the weights are rounded for the output."""
        recipe = replace(PLAIN, settings=replace(PLAIN.settings, rounding="gptq"))
        quantized = quantize(source, recipe, observe(source, samples)).flatbuffer
        return float(np.mean((run(quantized, others) - run(flatbuffer, others)) ** 2))

    assert error(rotated) < 0.6 * error(flatbuffer)


@pytest.mark.parametrize("model", [dense_bottleneck(relu=True), dense_bottleneck(zeros=4)])
def test_a_layer_with_an_activation_or_pruned_weights_is_not_rotated(model: Model) -> None:
    result = rotate_bottlenecks(model, to_flatbuffer(model), samples_for(model, 64).inputs)
    assert result.model is model and not result.rotated


def test_outputs_do_not_change_if_channels_are_nearly_constant() -> None:
    model = dense_bottleneck()
    data = model.main.tensors[model.main.ops[0].inputs[1]].data
    assert data is not None
    constant = data.copy()
    constant[2:4] = 1e-3 * constant[:1]
    tensors = list(model.main.tensors)
    tensors[model.main.ops[0].inputs[1]] = replace(tensors[model.main.ops[0].inputs[1]], data=constant)
    model = replace(model, subgraphs=(replace(model.main, tensors=tuple(tensors)),))
    flatbuffer, samples = to_flatbuffer(model), samples_for(model, 128).inputs
    rotated = to_flatbuffer(rotate_bottlenecks(model, flatbuffer, samples).model)
    for (before,), (after,) in zip(
        run_outputs(flatbuffer, samples), run_outputs(rotated, samples), strict=True
    ):
        assert np.allclose(before, after, rtol=1e-3, atol=1e-3 * np.abs(before).max())
