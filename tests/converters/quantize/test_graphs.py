"""Quantized random graphs with branches, several inputs and outputs run and have little error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import LayerRule, load_recipe
from arenite.converters.quantize.weights.bias_correction import quantize_input
from arenite.converters.quantize.weights.integer_weights import sqnr_db
from arenite.converters.tflite.litert.interpreter import run_outputs
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.firmware.generator.operator_needs import check_supported
from tests.converters.quantize.float_models import FloatNet, samples_for
from tests.converters.quantize.quantized_runs import run

SHAPE = (1, 6, 6, 4)
#: Operators of the random graphs, for ``_grow``.
STEPS = ("conv", "depthwise", "add", "mul", "maximum", "tanh", "relu", "concat", "leaky", "pool", "logistic")


def _grow(n: FloatNet, step: str, x: int, y: int) -> int:
    """Add an operator that computes a tensor of ``SHAPE`` from the tensors ``x`` and ``y`` (or ``x`` only). Return the
    tensor."""
    match step:
        case "conv":
            return n.conv(x, 4, relu=False)
        case "depthwise":
            return n.depthwise(x)
        case "add" | "mul":
            return n.layer(step.upper(), [x, y], SHAPE, f"{step.title()}Options")
        case "maximum":
            return n.layer("MAXIMUM", [x, y], SHAPE, "MaximumMinimumOptions")
        case "tanh" | "logistic" | "relu":
            return n.layer(step.upper(), [x], SHAPE)
        case "leaky":
            return n.layer("LEAKY_RELU", [x], SHAPE, "LeakyReluOptions", alpha=0.1)
        case "pool":
            return n.layer(
                "MAX_POOL_2D", [x], SHAPE, "Pool2DOptions",
                stride_w=1, stride_h=1, filter_width=3, filter_height=3, padding=0,
            )  # fmt: skip
    joined = n.layer("CONCATENATION", [x, y], (1, 6, 6, 8), "ConcatenationOptions", axis=3)
    return n.conv(joined, 4, kernel=1, relu=False)


@st.composite
def graphs(draw: st.DrawFn) -> FloatNet:
    """Draw a network of 1 to 7 operators with 1 or 2 inputs."""
    n = FloatNet(draw(st.integers(0, 1000)))
    values = [n.input(SHAPE, "float32") for _ in range(draw(st.integers(1, 2)))]
    for _ in range(draw(st.integers(1, 7))):
        x, y = draw(st.sampled_from(values)), draw(st.sampled_from(values))
        values.append(_grow(n, draw(st.sampled_from(STEPS)), x, y))
    return n


@settings(max_examples=25, deadline=None)
@given(graphs(), st.data())
def test_random_graphs_are_quantized_with_little_error(n: FloatNet, data: st.DataObject) -> None:
    computed = sorted({i for op in n.ops for i in op.outputs})
    results = data.draw(st.lists(st.sampled_from(computed), min_size=1, max_size=3, unique=True))
    model = n.model([computed[-1], *(i for i in results if i != computed[-1])])
    recipe = load_recipe(data.draw(st.sampled_from(["int8", "int16x8"])))
    layer = data.draw(st.integers(0, len(n.ops) - 1))
    activations = data.draw(st.sampled_from(["int8", "int16", "float"]))
    recipe = recipe.with_layers(LayerRule(f"#{layer}", {"activations": activations}))
    flatbuffer = to_flatbuffer(model)
    samples = samples_for(model, 6)
    quantized = quantize(flatbuffer, recipe, observe(flatbuffer, samples))
    integer_model = parse(quantized.flatbuffer)
    if activations != "float":
        check_supported(integer_model)
    inputs = [integer_model.main.tensors[i] for i in integer_model.main.inputs]
    quantized_inputs = [
        [quantize_input(v, t.scale, t.zero_point, t.dtype) for v, t in zip(s, inputs, strict=True)]
        for s in samples.inputs
    ]
    exact = list(run_outputs(flatbuffer, samples.inputs))
    actual = list(run_outputs(quantized.flatbuffer, quantized_inputs, exact=True))
    for k, i in enumerate(integer_model.main.outputs):
        t = integer_model.main.tensors[i]
        expected = np.array([e[k] for e in exact])
        real = (np.array([g[k] for g in actual], np.float64) - t.zero_point) * t.scale
        # The limit allows for the error of seven successive 8-bit layers, some of them products.
        assert sqnr_db(expected, real) > 10


def test_integer_inputs_and_outputs_are_kept() -> None:
    n = FloatNet(3)
    tokens = n.input((1, 5), "int32")
    embedded = n.layer("GATHER", [n.random(20, 4), tokens], (1, 5, 4), "GatherOptions", axis=0)
    scores = n.dense(n.flat(embedded), 6)
    axis = n.tensor((1,), "int32", data=[1])
    label = n.op("ARG_MAX", [scores, axis], (1,), "int32", options="ArgMaxOptions", output_type=2)
    model = n.model([label, scores])
    rng = np.random.default_rng(0)
    samples = [[rng.integers(0, 20, (1, 5)).astype(np.int32)] for _ in range(20)]
    flatbuffer = to_flatbuffer(model)

    class Data:
        inputs = samples

    quantized = quantize(flatbuffer, load_recipe("int8"), observe(flatbuffer, Data()))
    g = parse(quantized.flatbuffer)
    check_supported(g)
    assert [g.main.tensors[i].dtype for i in (*g.main.inputs, *g.main.outputs)] == ["int32", "int32", "int8"]
    equal = [
        a[0][0] == b[0][0]
        for a, b in zip(
            run_outputs(flatbuffer, samples),
            run_outputs(quantized.flatbuffer, samples, exact=True),
            strict=True,
        )
    ]
    assert sum(equal) >= 18  # of 20 labels


@pytest.mark.parametrize("bias", [True, False])
def test_weights_that_are_an_input_are_quantized_as_activations(bias: bool) -> None:
    n = FloatNet(4)
    x, w = n.input((1, 12), "float32"), n.input((5, 12), "float32")
    y = n.layer("FULLY_CONNECTED", [x, w, n.random(5) if bias else -1], (1, 5), "FullyConnectedOptions")
    model = n.model([y])
    flatbuffer, samples = to_flatbuffer(model), samples_for(model)
    quantized = quantize(flatbuffer, load_recipe("int8"), observe(flatbuffer, samples))
    check_supported(parse(quantized.flatbuffer))
    assert sqnr_db(run(flatbuffer, samples.inputs), run(quantized.flatbuffer, samples.inputs)) > 30


def test_inputs_and_outputs_can_have_other_types() -> None:
    n = FloatNet(5)
    x = n.input(SHAPE, "float32")
    model = n.model([n.conv(x, 4)])
    flatbuffer, samples = to_flatbuffer(model), samples_for(model)
    recipe = replace(load_recipe("int8"), inputs="float", outputs="int16")
    quantized = quantize(flatbuffer, recipe, observe(flatbuffer, samples))
    g = parse(quantized.flatbuffer).main
    assert [op.name for op in g.ops] == ["QUANTIZE", "CONV_2D", "QUANTIZE"]
    assert [g.tensors[i].dtype for i in (*g.inputs, *g.outputs)] == ["float32", "int16"]
    assert g.tensors[g.inputs[0]].name == "t0"


@pytest.mark.parametrize("recipe", ["int8", "int16x8"])
@pytest.mark.parametrize(("name", "limit"), [("MINIMUM", 1e12), ("MAXIMUM", -1e12), ("MINIMUM", 0.3)])
def test_a_constant_limit_outside_the_values_does_not_widen_the_scale(
    recipe: str, name: str, limit: float
) -> None:
    n = FloatNet(3)
    x = n.conv(n.input(SHAPE, "float32"), 4, relu=False)
    model = n.model([n.layer(name, [x, n.real([limit])], SHAPE, "MaximumMinimumOptions")])
    flatbuffer, samples = to_flatbuffer(model), samples_for(model, 8)
    quantized = quantize(flatbuffer, load_recipe(recipe), observe(flatbuffer, samples))
    expected = np.array([o[0] for o in run_outputs(flatbuffer, samples.inputs)])
    assert sqnr_db(expected, run(quantized.flatbuffer, samples.inputs)) > 30
