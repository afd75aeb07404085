"""A cumulative sum of real numbers becomes a layer that has an integer kernel."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.weights.integer_weights import sqnr_db
from arenite.converters.tflite.litert.interpreter import run_outputs
from arenite.converters.tflite.reader import parse
from tests.converters.quantize.float_models import FloatNet, samples_for
from tests.converters.quantize.quantized_runs import run


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(("shape", "axis"), [((1, 7), 1), ((1, 3, 7), -1)])
def test_a_cumulative_sum_becomes_a_multiplication_with_a_matrix_of_ones_and_zeros(
    shape: tuple[int, ...], axis: int, exclusive: bool, reverse: bool
) -> None:
    n = FloatNet(1)
    inputs = [n.input(shape, "float32"), n.tensor((), "int32", data=axis, quant=None)]
    model = n.model([n.layer("CUMSUM", inputs, shape, "CumsumOptions", reverse=reverse, exclusive=exclusive)])
    flatbuffer = n.bytes(model.main.outputs[0])
    simplified, (note,) = simplify(flatbuffer)
    assert note.startswith("Operator 0 CUMSUM became FULLY_CONNECTED")
    samples = samples_for(model)
    real = [before for (before,) in run_outputs(flatbuffer, samples.inputs)]
    for before, (after,) in zip(real, run_outputs(simplified, samples.inputs), strict=True):
        assert np.allclose(before, after, rtol=1e-5, atol=1e-5)
    image = quantize(simplified, load_recipe("int8"), observe(simplified, samples)).flatbuffer
    assert [op.name for op in parse(image).main.ops] == ["FULLY_CONNECTED"]
    assert sqnr_db(np.concatenate(real), run(image, samples.inputs).reshape(-1, *shape[1:])) > 30
