"""A recurrent layer that keeps its state itself continues a sequence over inferences."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.loop import LOOP
from arenite.converters.graph.model import Model
from arenite.converters.passes.loops.roll import roll_loops
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.dataset.states import with_states
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.tflite.litert.interpreter import LiteRtModel
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.host.bench.native_model import build
from arenite.host.bench.reference import Reference
from tests.converters.passes.loops.recurrent_models import CELLS, FEATURES, stateful_model, streaming_model
from tests.converters.quantize.float_models import Samples
from tests.fuzz.comparison import CACHE, lower

#: The number of inferences that continue one sequence.
CALLS = 12


def parts_of_sequence(steps: int) -> list[list[np.ndarray]]:
    """Return the inputs of ``CALLS`` inferences, each with ``steps`` time steps."""
    rng = np.random.default_rng(4)
    return [[part] for part in rng.standard_normal((CALLS, 1, steps, FEATURES)).astype(np.float32)]


def kept_answers(flatbuffer: bytes, samples: list[list[np.ndarray]]) -> list[np.ndarray]:
    """Return the answers of the model, which keeps its state from each sample to the next."""
    model, answers = LiteRtModel(flatbuffer), []
    for k, sample in enumerate(samples):
        model.run(sample, fresh=k == 0)
        answers.append(model.results()[0])
    return answers


def quantized(cell: str, recipe: str, steps: int) -> tuple[bytes, Model, list[np.ndarray]]:
    """Return the quantized model as bytes and with loops, and the answers of the float model."""
    flatbuffer, _ = simplify(to_flatbuffer(stateful_model(cell, steps)))
    samples = parts_of_sequence(steps)
    result = quantize(flatbuffer, load_recipe(recipe), observe(flatbuffer, Samples(samples)))
    return result.flatbuffer, roll_loops(parse(result.flatbuffer))[0], kept_answers(flatbuffer, samples)


@pytest.mark.parametrize("cell", CELLS)
def test_a_stateful_layer_equals_a_layer_whose_state_the_program_copies(cell: str) -> None:
    kept, carried = to_flatbuffer(stateful_model(cell, 5)), to_flatbuffer(streaming_model(cell, 5))
    samples, model = parts_of_sequence(5), LiteRtModel(carried)
    states = [np.zeros(d["shape"], np.float32) for d in model.inputs[1:]]
    for (part, *before), answer in zip(with_states(kept, samples), kept_answers(kept, samples), strict=True):
        for a, b in zip(before, states, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)
        model.run([part, *states])
        expected, *states = model.results()
        np.testing.assert_allclose(answer, expected, atol=1e-6)


@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize("recipe", ["int8", "int16x8"])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.slow
def test_a_quantized_sequence_continues_over_inferences(cell: str, recipe: str, steps: int) -> None:
    flatbuffer, rolled, answers = quantized(cell, recipe, steps)
    assert [op.name for op in rolled.main.ops].count(LOOP) == (steps > 1)
    main = rolled.main
    reads = [main.tensors[op.outputs[0]].dtype for op in main.ops if op.name == "READ_VARIABLE"]
    activation_type = "int8" if recipe == "int8" else "int16"
    assert sorted(reads) == sorted(
        [activation_type, "int16"] if cell == "lstm" else [activation_type]
    )  # int16, because rounding errors of a cell state add up

    (native,), reference = (
        build([lower(rolled, f"kept_{cell}_{recipe}_{steps}_")], CACHE),
        Reference(flatbuffer),
    )
    source, target = main.tensors[main.inputs[0]], main.tensors[main.outputs[0]]
    info, errors = np.iinfo(source.dtype), []
    parts = parts_of_sequence(steps)
    for k, (part,) in enumerate([*parts, parts[0]]):  # the last one begins a new sequence
        reset = k in (0, CALLS)
        x = np.clip(np.rint(part / source.scale) + source.zero_point, info.min, info.max).astype(source.dtype)
        (expected,), (actual,) = reference.run([x], reset=reset), native.run([x], reset=reset)
        np.testing.assert_array_equal(np.asarray(actual).reshape(expected.shape), expected)
        real = (expected.astype(np.float64) - target.zero_point) * target.scale
        errors.append(np.abs(real - answers[k % CALLS]).max())
    limit = (0.05 if recipe == "int8" else 0.02) * np.abs(np.asarray(answers)).max()
    assert max(errors) < limit
