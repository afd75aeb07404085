"""Bias correction brings the mean of each channel nearer to its mean in the float model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.float_models import FloatNet, classifier, samples_for
from tests.converters.quantize.quantized_runs import quality, quantized, run


def test_the_means_of_the_outputs_are_nearer_to_those_of_the_float_model() -> None:
    recipe = replace(load_recipe("w4"), bias_correction=False)
    error_without = error_with = 0.0
    for seed in range(4):
        model = classifier(seed)
        # Remove the SOFTMAX, because the mean over its outputs is constant.
        g = model.main
        model = replace(
            model, subgraphs=(replace(g, ops=g.ops[:-1], outputs=g.ops[-2].outputs),), signatures=()
        )
        data = samples_for(model).inputs
        exact = run(to_flatbuffer(model), data).mean(axis=(0, 1))
        for correction in (False, True):
            quantized_model, _ = quantized(model, replace(recipe, bias_correction=correction))
            error = float(np.abs(run(quantized_model.flatbuffer, data).mean(axis=(0, 1)) - exact).mean())
            if correction:
                error_with += error
            else:
                error_without += error
    assert error_with < 0.3 * error_without


def test_bias_correction_improves_int4_weights() -> None:
    recipe = load_recipe("w4")
    gains = [
        quality(classifier(seed), recipe) - quality(classifier(seed), replace(recipe, bias_correction=False))
        for seed in range(4)
    ]
    assert sum(gains) > 0


def test_biases_do_not_compensate_for_values_that_the_scale_clips() -> None:
    """A narrow range clips the large values of a tensor on purpose. The correction must not move the values inside the
    range."""
    n = FloatNet(3)
    x = n.dense(n.input((1, 6), "float32"), 4)
    model = n.model([x])
    name = model.main.tensors[x].name
    flatbuffer, data = to_flatbuffer(model), samples_for(model, 64)
    exact = run(flatbuffer, data.inputs)
    clipped = np.clip(exact, -0.2, 10.0)  # most values below zero are clipped
    assert np.mean(clipped != exact) > 0.2
    recipe = replace(load_recipe("int8"), bias_correction=True, ranges={name: (-0.2, 10.0)})
    quantized_model, _ = quantized(model, recipe)
    actual = run(quantized_model.flatbuffer, data.inputs)
    assert np.abs(actual - clipped).mean() < 0.03
