"""Quantized MLPerf Tiny float models are as accurate as the published int8 reference models."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from arenite.converters.importers.modernize import to_float32
from arenite.converters.quantize.calibration.observations import Observations, observe
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.tflite.reader import load, parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.firmware.generator.operator_needs import check_supported
from tests.converters.quantize.float_models import Samples, samples_for
from tests.converters.quantize.quantized_runs import run
from tests.development_models import SHARED, shared_model

#: Every fifth sample is used for calibration, and all other samples are used to measure the accuracy.
_CALIBRATION_STEP = 5


@cache
def keywords() -> tuple[list[np.ndarray], np.ndarray]:
    """Return (real inputs, labels) of the keyword samples."""
    path = SHARED / "data" / "kws01.npz"
    if not path.exists():
        pytest.skip(f"{path} does not exist")
    t = load(shared_model("kws01_int8")).main
    x = t.tensors[t.inputs[0]]
    with np.load(path) as file:
        real = (file["x"].astype(np.float32) - x.zero_point) * np.float32(x.scale)
        return [row[None] for row in real], file["y"]


@cache
def observed() -> tuple[bytes, Observations]:
    """Return (float keyword model, its observations)."""
    flatbuffer = to_flatbuffer(to_float32(load(shared_model("kws01_float32")))[0])
    return flatbuffer, observe(flatbuffer, Samples([[x] for x in keywords()[0][::_CALIBRATION_STEP]]))


@cache
def accuracy(flatbuffer: bytes) -> float:
    """Return the accuracy on the samples not used for calibration, with LiteRT's fast optimized kernels."""
    x, y = keywords()
    evaluated = [k for k in range(len(x)) if k % _CALIBRATION_STEP]
    outputs = run(flatbuffer, [[x[k]] for k in evaluated], exact=False)
    return float(np.mean(outputs.reshape(len(evaluated), -1).argmax(axis=1) == y[evaluated]))


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["int8", "int8_percentile", "int8_per_tensor", "int16x8"])
def test_keywords_int8_is_at_least_as_accurate_as_the_reference(recipe: str) -> None:
    flatbuffer, observations = observed()
    quantized_accuracy = accuracy(quantize(flatbuffer, load_recipe(recipe), observations).flatbuffer)
    assert quantized_accuracy >= accuracy(shared_model("kws01_int8").read_bytes())
    assert quantized_accuracy >= accuracy(flatbuffer) - 0.005


@pytest.mark.slow
def test_keywords_with_int4_weights_lose_at_most_one_point() -> None:
    flatbuffer, observations = observed()
    quantized = quantize(flatbuffer, load_recipe("w4"), observations)
    assert {f.weights for f in quantized.layers if f.weights} == {"int4"}
    assert accuracy(quantized.flatbuffer) >= accuracy(flatbuffer) - 0.01


@pytest.mark.parametrize("name", ["ic01", "vww01"])
def test_image_models_are_quantized_completely(name: str) -> None:
    flatbuffer = to_flatbuffer(to_float32(load(shared_model(f"{name}_float32")))[0])
    data = samples_for(parse(flatbuffer), 12)
    quantized = quantize(flatbuffer, load_recipe("int8"), observe(flatbuffer, data))
    model = parse(quantized.flatbuffer)
    check_supported(model)
    assert {model.main.tensors[i].dtype for op in model.main.ops for i in op.outputs} == {"int8"}
