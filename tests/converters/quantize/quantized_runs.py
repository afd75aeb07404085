"""Quantizes a float model and compares the two."""

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
    """The first output's real values for real inputs, by the reference kernels unless not ``exact``: [samples, ...]."""
    g = parse(flatbuffer).main
    ins = [g.tensors[i] for i in g.inputs]
    fed = [
        [
            quantize_input(v, t.scale, t.zero_point, t.dtype) if t.quant else v
            for v, t in zip(s, ins, strict=True)
        ]
        for s in samples
    ]
    out = g.tensors[g.outputs[0]]
    found = np.array([o[0] for o in run_outputs(flatbuffer, fed, exact=exact)], np.float64)
    return (found - out.zero_point) * out.scale if out.quant else found


def quantized(model: Model, recipe: Recipe, **more: Any) -> tuple[QuantizedModel, Samples]:
    flatbuffer, data = to_flatbuffer(model), samples_for(model)
    return quantize(flatbuffer, recipe, observe(flatbuffer, data), **more), data


def quality(model: Model, recipe: Recipe, **more: Any) -> float:
    """SQNR in dB of the first output over the calibration samples."""
    made, data = quantized(model, recipe, **more)
    return sqnr_db(run(to_flatbuffer(model), data.inputs), run(made.flatbuffer, data.inputs))
