"""Equalization multiplies the channels of a layer by factors and divides the weights of the next layer by them. The
outputs of the model stay the same, and the ranges of the channels become more equal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.weights.equalize import (
    EqualizedModel,
    LayerPair,
    equalize_layers,
    find_layer_pairs,
)
from arenite.converters.tflite.litert.interpreter import run_outputs, run_tensor_values
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.float_models import FloatNet, classifier, samples_for
from tests.converters.quantize.quantized_runs import quality, quantized


def uneven(seed: int = 0) -> Model:
    """Return a chain of convolutions whose channels have very different ranges."""
    n = FloatNet(seed)
    x = n.input((1, 8, 8, 3), "float32")
    a = n.conv(x, 8)
    b = n.depthwise(a)
    c = n.conv(b, 6, kernel=1)
    d = n.layer(
        "MAX_POOL_2D", [c], (1, 4, 4, 6), "Pool2DOptions",
        stride_w=2, stride_h=2, filter_width=2, filter_height=2, padding=1,
    )  # fmt: skip
    y = n.conv(d, 5, relu=False)
    factors = np.logspace(-1.5, 1.5, 8)
    for index, axis in ((n.ops[0].inputs[1], 0), (n.ops[0].inputs[2], 0), (n.ops[1].inputs[1], 3)):
        data = n.tensors[index].data
        assert data is not None
        shape = [-1 if i == axis else 1 for i in range(data.ndim)]
        data *= (factors if index != n.ops[1].inputs[1] else 1 / factors).reshape(shape).astype(np.float32)
    return n.model([y])


def test_an_equalized_model_has_the_same_outputs() -> None:
    model = uneven()
    flatbuffer = to_flatbuffer(model)
    equalized = equalize_layers(flatbuffer)
    equalized_bytes = equalized.flatbuffer
    assert equalized_bytes != flatbuffer
    assert len(equalized.notes) == 1
    assert equalized.notes[0].startswith("Layers 0-1, 1-2, 2-4 equalized: channels scaled by ")
    data = samples_for(model).inputs
    for (before,), (after,) in zip(
        run_outputs(flatbuffer, data), run_outputs(equalized_bytes, data), strict=True
    ):
        assert np.allclose(before, after, rtol=1e-4, atol=1e-4 * np.abs(before).max())


def test_channels_of_both_layers_have_equal_ranges() -> None:
    equalized = equalize_layers(to_flatbuffer(uneven())).flatbuffer
    graph = parse(equalized).main
    for pair in find_layer_pairs(graph):
        first, second = (graph.tensors[graph.ops[k].inputs[1]].data for k in (pair.first, pair.second))
        assert first is not None
        assert second is not None
        axis = 3 if graph.ops[pair.first].name == "DEPTHWISE_CONV_2D" else 0
        r1 = np.abs(first).max(axis=tuple(i for i in range(4) if i != axis))
        r2 = np.abs(second).max(axis=(0, 1, 2))
        assert np.allclose(r1, r2, rtol=0.02)


def test_equalization_improves_per_tensor_weights() -> None:
    model = uneven()
    recipe = load_recipe("int8_per_tensor")
    assert recipe.equalisation
    assert quality(model, recipe) > quality(model, replace(recipe, equalisation=False)) + 3


def test_only_the_tensors_that_are_listed_as_scaled_change_their_values() -> None:
    model = uneven()
    flatbuffer = to_flatbuffer(model)
    equalized = equalize_layers(flatbuffer)
    indices = [op.outputs[0] for op in model.main.ops]
    data = samples_for(model, 3).inputs
    unchanged = set()
    for before, after in zip(
        run_tensor_values(flatbuffer, data, indices),
        run_tensor_values(equalized.flatbuffer, data, indices),
        strict=True,
    ):
        unchanged = {i for i in indices if np.allclose(before[i], after[i], rtol=1e-4, atol=1e-4)}
    assert unchanged == set(indices) - equalized.scaled == {indices[-1]}
    quantized_model, _ = quantized(model, load_recipe("int8_per_tensor"))
    assert not equalized.scaled & set(quantized_model.tensors)


def test_layers_with_a_branch_or_another_activation_between_them_are_no_pair() -> None:
    # Only the layers 1 and 2 are a pair: two operators read the output of layer 0, and an ADD follows layer 2.
    graph = classifier().main
    assert find_layer_pairs(graph) == (LayerPair(1, 2, (6,)),)
    n = FloatNet()
    x = n.input((1, 8, 8, 3), "float32")
    a = n.layer(
        "CONV_2D", [x, n.random(4, 3, 3, 3), n.random(4)], (1, 8, 8, 4), "Conv2DOptions",
        stride_h=1, stride_w=1, fused_activation_function=3,
    )  # fmt: skip
    model = n.model([n.conv(a, 4)])
    assert find_layer_pairs(model.main) == ()
    flatbuffer = to_flatbuffer(model)
    assert equalize_layers(flatbuffer) == EqualizedModel(flatbuffer, frozenset(), ())
