"""The int8 kernel of LOG_SOFTMAX clips values below -16. A LOG_SOFTMAX inside a network becomes operators that keep
these values."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.weights.integer_weights import sqnr_db
from arenite.converters.tflite.litert.interpreter import run_outputs
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.float_models import FloatNet, Samples, samples_for
from tests.converters.quantize.quantized_runs import run
from tests.fuzz.comparison import compare

SHAPES = [(1, 12), (1, 3, 12), (1, 4, 3, 12)]


def network(shape: tuple[int, ...], *, hidden: bool = True) -> Model:
    """Return a dense layer and a LOG_SOFTMAX over 12 classes, and with ``hidden`` another dense layer."""
    n = FloatNet(5)
    x = n.input((*shape[:-1], 8), "float32")

    def dense(x: int, out: int) -> int:
        size = n.tensors[x].shape[-1]
        inputs = [x, n.random(out, size, scale=size**-0.5), n.random(out)]
        return n.layer(
            "FULLY_CONNECTED", inputs, (*shape[:-1], out), "FullyConnectedOptions", keep_num_dims=True
        )

    y = n.layer("LOG_SOFTMAX", [dense(x, 12)], shape, "LogSoftmaxOptions")
    return n.model([dense(y, 6) if hidden else y])


def samples(model: Model) -> Samples:
    """Return samples with which log-probabilities reach about -60."""
    return samples_for(model, scale=12.0)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_float_values_do_not_change(shape: tuple[int, ...]) -> None:
    model = network(shape)
    flatbuffer = to_flatbuffer(model)
    simplified, notes = simplify(flatbuffer)
    assert "LOG_SOFTMAX" not in [op.name for op in parse(simplified).main.ops]
    assert any("clips values below -16" in note for note in notes)
    data = samples(model).inputs
    for (before,), (after,) in zip(run_outputs(flatbuffer, data), run_outputs(simplified, data), strict=True):
        assert before.shape == after.shape
        assert np.allclose(before, after, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("recipe", "min_db"), [("int8", 24.0), ("int16x8", 30.0)])
def test_the_quantized_values_are_near_the_float_values(recipe: str, min_db: float) -> None:
    model = network((1, 12))
    flatbuffer, data = to_flatbuffer(model), samples(model)
    simplified, _ = simplify(flatbuffer)

    def quality(source: bytes) -> float:
        """Return the SQNR in dB of ``source`` quantized."""
        quantized = quantize(source, load_recipe(recipe), observe(source, data))
        return sqnr_db(run(flatbuffer, data.inputs), run(quantized.flatbuffer, data.inputs))

    assert quality(simplified) >= max(min_db, quality(flatbuffer) + 12)


@pytest.mark.parametrize("recipe", ["int8", "int16x8"])
def test_the_firmware_gives_the_bytes_of_litert(recipe: str) -> None:
    images = []
    for shape in SHAPES:
        model = network(shape)
        simplified, _ = simplify(to_flatbuffer(model))
        quantized = quantize(simplified, load_recipe(recipe), observe(simplified, samples(model)))
        images.append(parse(quantized.flatbuffer))
    assert [str(mismatch) for mismatch in compare(images, runs=4, seed=3)] == []


def test_a_log_softmax_whose_result_is_a_model_output_is_not_changed() -> None:
    flatbuffer = to_flatbuffer(network((1, 12), hidden=False))
    assert simplify(flatbuffer) == (flatbuffer, ())
