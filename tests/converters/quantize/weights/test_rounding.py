"""Each weight is rounded up or down so that the error of the layer's output is as small as possible. This error is
smaller than with rounding to the nearest integer. It is computed from the moments of the layer's inputs: the mean
products of each two inputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.graph.operator_rules import WEIGHTS
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.weights.input_moments import can_have_moments, input_moments
from arenite.converters.quantize.weights.integer_weights import quantize_weights
from arenite.converters.quantize.weights.rounding import round_for_output
from arenite.converters.tflite.litert.interpreter import run_tensor_values
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.float_models import FloatNet, Samples, classifier, samples_for


def smooth(model: Model, count: int = 20) -> Samples:
    """Return samples whose neighboring values are correlated, as in images."""
    rng = np.random.default_rng(3)
    shape = model.main.tensors[model.main.inputs[0]].shape
    return Samples(
        [[np.cumsum(rng.normal(size=shape), axis=1).astype(np.float32) * 0.3] for _ in range(count)]
    )


@pytest.mark.parametrize("layer", [0, 1, 2, 5])
def test_moments_predict_the_error_of_a_layer_exactly(layer: int) -> None:
    """For a change w of the weights and the moments h, the product w h w equals the mean squared difference of the
    outputs of the float layer."""
    model = classifier()
    graph = model.main
    op = graph.ops[layer]
    if op.name == "RESHAPE":
        op = graph.ops[layer + 1]
    data = smooth(model, 4)
    h = input_moments(to_flatbuffer(model), graph, [op], data.inputs)[op.index].matrix
    t = graph.tensors[op.inputs[1]]
    assert t.data is not None
    changed = np.array(t.data) + np.random.default_rng(0).normal(size=t.shape).astype(np.float32) * 0.01
    x = op.inputs[WEIGHTS[op.name].value]
    outputs = []
    for weights in (t.data, changed):
        n = FloatNet()
        layer_input = n.input(graph.tensors[x].shape, "float32")
        options = {k: v for k, v in op.options.items() if k != "fused_activation_function"}
        y = n.layer(
            op.name, [layer_input, n.real(weights), n.real(np.zeros(t.shape[WEIGHTS[op.name].axis]))],
            graph.tensors[op.outputs[0]].shape, op.options_type, **options,
        )  # fmt: skip
        inner = [[v[x]] for v in run_tensor_values(to_flatbuffer(model), data.inputs, [x])]
        outputs.append(np.array([v[y] for v in run_tensor_values(n.bytes(y), inner, [y])], np.float64))
    difference = outputs[1] - outputs[0]
    exact = (difference**2).reshape(-1, difference.shape[-1]).mean(axis=0)
    difference_w = changed.astype(np.float64) - t.data
    if op.name == "DEPTHWISE_CONV_2D":
        rows = difference_w.reshape(-1, t.shape[3]).T[:, None]
        predicted = np.einsum("gok,gkl,gol->go", rows, h, rows)[:, 0]
    else:
        rows = difference_w.reshape(t.shape[0], -1)
        predicted = np.einsum("ok,kl,ol->o", rows, h[0], rows)
    assert predicted == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("layer", [0, 1, 2, 6])
def test_the_output_error_is_smaller_than_with_rounding_to_nearest(layer: int, per_channel: bool) -> None:
    model = classifier(seed=layer + 10, channels=12)
    op = model.main.ops[layer]
    h = input_moments(to_flatbuffer(model), model.main, [op], smooth(model).inputs)[op.index]
    w = model.main.tensors[op.inputs[1]].data
    assert w is not None
    start = quantize_weights(w, WEIGHTS[op.name].axis, "int4", per_channel=per_channel, scale_method="mse")
    rounded = round_for_output(w, start, h)
    assert rounded.values.shape == w.shape
    assert np.abs(rounded.values).max() <= 7

    def error(real: np.ndarray) -> float:
        difference = (real - w).astype(np.float64)
        if op.name == "DEPTHWISE_CONV_2D":
            rows = difference.reshape(-1, w.shape[3]).T[:, None]
        else:
            rows = difference.reshape(1, w.shape[0], -1)
        return float(np.einsum("gok,gkl,gol->", rows, h.matrix, rows))

    assert error(rounded.real()) < 0.8 * error(start.real())


def test_exactly_represented_rows_are_not_changed() -> None:
    n = FloatNet(4)
    x = n.input((1, 16), "float32")
    w = np.random.default_rng(1).integers(-7, 8, (4, 16)) * 0.125
    w[:, 0] = 0.875
    y = n.layer("FULLY_CONNECTED", [x, n.real(w), n.random(4)], (1, 4), "FullyConnectedOptions")
    model = n.model([y])
    op = model.main.ops[0]
    h = input_moments(to_flatbuffer(model), model.main, [op], smooth(model).inputs)[0]
    start = quantize_weights(w.astype(np.float32), 0, "int4", per_channel=True, scale_method="mse")
    rounded = round_for_output(w.astype(np.float32), start, h)
    assert np.array_equal(rounded.real(), w.astype(np.float32))


def test_grouped_and_computed_weights_have_no_moments() -> None:
    n = FloatNet(5)
    x = n.input((1, 4, 4, 4), "float32")
    n.layer(
        "CONV_2D",
        [x, n.random(4, 3, 3, 2), n.random(4)],
        (1, 4, 4, 4),
        "Conv2DOptions",
        stride_h=1,
        stride_w=1,
    )
    flat = n.flat(x)
    y = n.layer(
        "FULLY_CONNECTED", [flat, n.input((3, 64), "float32"), n.random(3)], (1, 3), "FullyConnectedOptions"
    )
    graph = n.model([y]).main
    assert [can_have_moments(graph, op) for op in graph.ops] == [False, False, False]


def test_layers_with_equal_weights_get_equal_quantized_weights() -> None:
    """The unrolled steps of a recurrent layer have the same weights, which must be stored only once."""
    n = FloatNet(6)
    x = n.input((1, 16), "float32")
    w, copy = n.random(16, 16, scale=0.25), n.random(1)
    n.tensors[copy] = replace(n.tensors[w], index=copy)  # the same values in another tensor
    state = x
    for step in range(4):
        weights = copy if step == 2 else w
        state = n.layer("FULLY_CONNECTED", [state, weights, n.random(16)], (1, 16), "FullyConnectedOptions")
        state = n.layer("TANH", [state], (1, 16))
    model = n.model([state])
    flatbuffer, data = to_flatbuffer(model), samples_for(model)
    quantized = quantize(flatbuffer, load_recipe("w4"), observe(flatbuffer, data))
    stored = [t for t in parse(quantized.flatbuffer).main.tensors if t.dtype == "int4"]
    assert len({t.data.tobytes() for t in stored if t.data is not None}) == 1
    assert {f.weights for f in quantized.layers if f.name == "FULLY_CONNECTED"} == {"int4"}
