"""The first step of a recurrent layer, which converters fold, is written like the others if that changes no value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.passes.loops.first_step import restore_first_steps
from arenite.converters.passes.loops.repeated_body import find_repeated_bodies
from arenite.converters.tflite.litert.interpreter import run_outputs
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.passes.loops.recurrent_models import (
    CELLS,
    FEATURES,
    STEPS,
    RecurrentNet,
    recurrent_model,
)
from tests.converters.quantize.float_models import samples_for


def outputs(model: Model) -> np.ndarray:
    return np.array([o[0] for o in run_outputs(to_flatbuffer(model), samples_for(model, 5).inputs)])


@pytest.mark.parametrize("cut", ["UNPACK", "SLICE"])
@pytest.mark.parametrize("cell", CELLS)
def test_a_folded_first_step_is_restored(cell: str, cut: str) -> None:
    model = recurrent_model(cell, cut=cut)
    restored, notes = restore_first_steps(model)
    assert len(notes) == 1
    assert [body.steps for body in find_repeated_bodies(restored.main)] == [STEPS]
    np.testing.assert_allclose(outputs(restored), outputs(model), atol=1e-5)


def test_a_complete_first_step_stays() -> None:
    model = recurrent_model("lstm", folded=False)
    assert restore_first_steps(model) == (model, ())


def test_a_first_step_with_another_state_than_zero_stays() -> None:
    model = recurrent_model("gru")
    graph = model.main
    first = next(op for op in graph.ops if op.name == "FULLY_CONNECTED")
    bias = graph.tensors[first.inputs[2]]
    assert bias.data is not None
    other = replace(bias, index=len(graph.tensors), data=bias.data + np.float32(0.1))
    ops = list(graph.ops)
    ops[first.index] = replace(first, inputs=(*first.inputs[:2], other.index))
    changed = replace(model, subgraphs=(replace(graph, tensors=(*graph.tensors, other), ops=tuple(ops)),))
    restored, notes = restore_first_steps(changed)
    assert restored is changed and notes == ()


def test_a_sequence_that_does_not_begin_before_the_loop_has_no_first_step() -> None:
    """The state before the loop comes from a layer, not from an earlier part of the sequence."""
    n = RecurrentNet("rnn")
    rows = n.steps_of(n.input((1, STEPS, FEATURES), "float32"))
    n.recurrent(rows[:1])
    start = n.layer("TANH", [n.dense(rows[0], 8)], (1, 8))
    h = start
    for row in rows:
        h, _ = n._rnn(row, h, -1)
    model = n.model([h])
    assert [body.steps for body in find_repeated_bodies(model.main)] == [STEPS]
    assert restore_first_steps(model) == (model, ())
