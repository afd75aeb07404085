"""Quantize a float model and compare its outputs with those of the quantized model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.quantize import QuantizedModel, quantize
from arenite.converters.quantize.recipes.recipe import Recipe
from arenite.converters.quantize.weights.bias_correction import quantize_input
from arenite.converters.quantize.weights.integer_weights import sqnr_db
from arenite.converters.tflite.litert.interpreter import run_outputs
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.float_models import Samples, samples_for


def run(flatbuffer: bytes, samples: Sequence[Sequence[np.ndarray]], *, exact: bool = True) -> np.ndarray:
    """Run a model on real inputs and return the real values of its first output: [samples, ...]. ``exact`` selects the
    reference kernels."""
    g = parse(flatbuffer).main
    inputs = [g.tensors[i] for i in g.inputs]
    quantized_inputs = [
        [
            quantize_input(v, t.scale, t.zero_point, t.dtype) if t.quant else v
            for v, t in zip(s, inputs, strict=True)
        ]
        for s in samples
    ]
    out = g.tensors[g.outputs[0]]
    values = np.array([o[0] for o in run_outputs(flatbuffer, quantized_inputs, exact=exact)], np.float64)
    return (values - out.zero_point) * out.scale if out.quant else values


def quantized(model: Model, recipe: Recipe, **more: Any) -> tuple[QuantizedModel, Samples]:
    """Return the model quantized by ``recipe``, and the calibration samples. ``more`` are arguments of ``quantize``."""
    flatbuffer, data = to_flatbuffer(model), samples_for(model)
    return quantize(flatbuffer, recipe, observe(flatbuffer, data), **more), data


def quality(model: Model, recipe: Recipe, **more: Any) -> float:
    """Return the SQNR in dB of the quantized model's first output over the calibration samples."""
    result, data = quantized(model, recipe, **more)
    return sqnr_db(run(to_flatbuffer(model), data.inputs), run(result.flatbuffer, data.inputs))
