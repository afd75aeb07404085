"""Bias correction brings the mean of each channel nearer to its mean in the float model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.float_models import classifier, samples_for
from tests.converters.quantize.quantized_runs import quality, quantized, run


def test_the_mean_of_each_output_is_nearer_to_the_float_one() -> None:
    recipe = replace(load_recipe("w4"), bias_correction=False)
    without = with_it = 0.0
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
                with_it += error
            else:
                without += error
    assert with_it < 0.3 * without


def test_bias_correction_improves_int4_weights() -> None:
    recipe = load_recipe("w4")
    gains = [
        quality(classifier(seed), recipe) - quality(classifier(seed), replace(recipe, bias_correction=False))
        for seed in range(4)
    ]
    assert sum(gains) > 0
