"""Converters simplify the first step of an unrolled recurrent layer, because its state is zero. ``restore_first_steps``
writes this step like the other steps if that changes no value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.passes.loops.first_step import restore_first_steps
from arenite.converters.passes.loops.repeated_body import find_repeated_bodies
from arenite.converters.tflite.litert.interpreter import run_outputs
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.passes.loops.recurrent_models import (
    CELLS,
    FEATURES,
    STEPS,
    UNITS,
    RecurrentNet,
    recurrent_model,
)
from tests.converters.quantize.float_models import samples_for

SAMPLES = [[x] for x in np.random.default_rng(5).normal(size=(5, 1, STEPS, FEATURES)).astype(np.float32)]


def outputs(model: Model) -> np.ndarray:
    """Return the first output of the model for 5 samples."""
    return np.array([o[0] for o in run_outputs(to_flatbuffer(model), samples_for(model, 5).inputs)])


@pytest.mark.parametrize("cut", ["UNPACK", "SLICE"])
@pytest.mark.parametrize("cell", CELLS)
def test_a_folded_first_step_is_restored(cell: str, cut: str) -> None:
    model = recurrent_model(cell, cut=cut)
    restored, notes = restore_first_steps(model)
    assert len(notes) == 1
    assert [body.steps for body in find_repeated_bodies(restored.main)] == [STEPS]
    np.testing.assert_allclose(outputs(restored), outputs(model), atol=1e-5)


def test_a_complete_first_step_is_not_changed() -> None:
    model = recurrent_model("lstm", folded=False)
    assert restore_first_steps(model) == (model, ())


def test_a_first_step_with_another_bias_is_not_changed() -> None:
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


@pytest.mark.parametrize("cell", CELLS)
def test_two_states_that_begin_with_one_tensor_are_restored(cell: str) -> None:
    """The sum of all outputs begins with the first output, because converters remove the addition of zero."""
    n = RecurrentNet(cell)
    total, *others = n.recurrent(n.steps_of(n.input((1, STEPS, FEATURES), "float32")))
    for h in others:
        total = n._binary("ADD", total, h)
    model = n.model([total])
    restored, notes = restore_first_steps(model)
    (old,), (new,) = (find_repeated_bodies(m.main) for m in (model, restored))
    assert len(notes) == 1 and (new.steps, len(new.lanes)) == (STEPS, len(old.lanes))
    np.testing.assert_allclose(outputs(restored), outputs(model), atol=1e-5)


def test_a_state_of_integers_begins_with_integers() -> None:
    """The model also counts in how many steps each unit is positive. Converters fold the addition of the first step."""
    n = RecurrentNet("rnn")
    hidden = n.recurrent(n.steps_of(n.input((1, STEPS, FEATURES), "float32")))
    shape, count = (1, UNITS), -1
    for h in hidden:
        is_positive = n.op("GREATER", [h, n.real([[0.0]])], shape, "bool", options="GreaterOptions")
        one = n.op("CAST", [is_positive], shape, "int32", options="CastOptions")
        count = one if count < 0 else n.op("ADD", [one, count], shape, "int32", options="AddOptions")
    model = parse(to_flatbuffer(n.model([hidden[-1], count])))
    restored, notes = restore_first_steps(model)
    assert len(notes) == 1 and [body.steps for body in find_repeated_bodies(restored.main)] == [STEPS]
    for before, after in zip(
        *(run_outputs(to_flatbuffer(m), SAMPLES) for m in (model, restored)), strict=True
    ):
        np.testing.assert_allclose(before[0], after[0], atol=1e-5)
        np.testing.assert_array_equal(before[1], after[1])


def test_a_first_step_is_not_changed_if_all_steps_read_a_value_that_depends_on_it() -> None:
    """All other steps read ``ones``, which is computed from the first output."""
    n = RecurrentNet("rnn")
    rows = n.steps_of(n.input((1, STEPS, FEATURES), "float32"))
    (h,) = n.recurrent(rows[:1])
    ones = n._binary("ADD", n._binary("MUL", h, n.real(np.zeros((1, UNITS)))), n.real(np.ones((1, UNITS))))
    for row in rows[1:]:
        h = n._binary("MUL", n._rnn(row, h, -1)[0], ones)
    model = n.model([h])
    assert [body.steps for body in find_repeated_bodies(model.main)] == [STEPS - 1]
    assert restore_first_steps(model) == (model, ())
