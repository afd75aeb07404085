"""A recurrent model whose state is an input and an output continues a sequence over several calls. The program copies
the bytes of the state from an output to the input of the next call."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.loop import LOOP
from arenite.converters.passes.loops.roll import roll_loops
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.tflite.litert.interpreter import run_outputs
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.host.bench.native_model import build
from arenite.host.bench.reference import Reference
from tests.converters.passes.loops.recurrent_models import FEATURES, UNITS, streaming_model
from tests.converters.quantize.float_models import Samples
from tests.fuzz.comparison import CACHE, lower

#: The steps of one call, and the number of calls that continue one sequence.
STEPS, CALLS = 5, 12


@pytest.mark.parametrize("recipe", ["int8", "int16x8"])
@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_a_sequence_continues_over_calls(cell: str, recipe: str) -> None:
    rng = np.random.default_rng(4)
    flatbuffer, _ = simplify(to_flatbuffer(streaming_model(cell, STEPS)))
    count = len(parse(flatbuffer).main.inputs)
    sequence = rng.standard_normal((CALLS, 1, STEPS, FEATURES)).astype(np.float32)
    samples, answers = [], []
    states = [np.zeros((1, UNITS), np.float32)] * (count - 1)
    for part in sequence:  # the float model's own states are the calibration data
        samples.append([part, *states])
        ((answer, *states),) = run_outputs(flatbuffer, [samples[-1]])
        answers.append(answer)
    quantized = quantize(flatbuffer, load_recipe(recipe), observe(flatbuffer, Samples(samples))).flatbuffer
    model = parse(quantized)
    tensors = [model.main.tensors[i] for i in (*model.main.inputs, *model.main.outputs)]
    for state, following in zip(tensors[1:count], tensors[count + 1 :], strict=True):
        assert (state.dtype, state.quant) == (following.dtype, following.quant)

    rolled = roll_loops(model)[0]
    assert [op.name for op in rolled.main.ops].count(LOOP) == 1
    (native,), reference = build([lower(rolled, f"s_{cell}_{recipe}_")], CACHE), Reference(quantized)
    info = np.iinfo(tensors[0].dtype)
    state_bytes = [np.full((1, UNITS), t.zero_point, t.dtype) for t in tensors[1:count]]
    errors = []
    for part, answer in zip(sequence, answers, strict=True):
        x = np.rint(part / tensors[0].scale) + tensors[0].zero_point
        inputs = [np.clip(x, info.min, info.max).astype(info.dtype), *state_bytes]
        expected, actual = reference.run(inputs), native.run(inputs)
        for a, b in zip(expected, actual, strict=True):
            np.testing.assert_array_equal(np.asarray(b).reshape(np.asarray(a).shape), a)
        state_bytes = [np.asarray(s).reshape(1, UNITS) for s in actual[1:]]
        out = tensors[count]
        real = (np.asarray(actual[0], np.float64).reshape(answer.shape) - out.zero_point) * out.scale
        errors.append(np.abs(real - answer).max())
    # The error does not grow from call to call.
    assert max(errors[CALLS // 2 :]) < 0.2 * np.abs(np.asarray(answers)).max()
