"""``roll_loops`` replaces the copies of a repeated body, such as the steps of an unrolled recurrent layer, by a
loop. The loop gives the same bytes as the copies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from arenite.converters.graph.loop import LOOP, Loop, constant_bytes, loop_of
from arenite.converters.graph.model import Model
from arenite.converters.passes.loops.roll import roll_loops
from arenite.converters.tflite.int4 import int8_weights
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.firmware.generator.target import Target
from arenite.host.bench.native_model import build
from arenite.host.bench.reference import Reference
from tests.converters.passes.loops.recurrent_models import (
    CELLS,
    FEATURES,
    STEPS,
    UNITS,
    RecurrentNet,
    quantized,
    recurrent_model,
    sequence_model,
)
from tests.fuzz.comparison import CACHE, HOST_TARGETS, lower, random_input


def loops(model: Model) -> list[Loop]:
    """Return the loops of ``model`` after ``roll_loops``."""
    rolled, notes = roll_loops(model)
    found = [loop for op in rolled.main.ops if (loop := loop_of(op)) is not None]
    assert len(notes) == len(found)
    return found


def assert_exact(models: Sequence[Model], targets: Sequence[Target] = HOST_TARGETS) -> None:
    """Check that every model, with loops, gives LiteRT's bytes for the model without loops."""
    generated = [
        lower(roll_loops(int8_weights(model))[0], f"m{k}t{t}_", target)
        for t, target in enumerate(targets)
        for k, model in enumerate(models)
    ]
    for native, model in zip(build(generated, CACHE), [*models] * len(targets), strict=True):
        reference, rng = Reference(to_flatbuffer(model)), np.random.default_rng(1)
        for run in range(3):
            native.fill_arena(0xA5 if run % 2 else 0x5A)
            inputs = [random_input(model.main.tensors[i], rng) for i in model.main.inputs]
            for expected, actual in zip(reference.run(inputs), native.run(inputs), strict=True):
                np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    ("recipe", "cut"),
    [
        ("int8", "UNPACK"),
        *(
            pytest.param(recipe, cut, marks=pytest.mark.slow)
            for recipe, cut in (
                ("int8", "SLICE"),
                ("w4", "UNPACK"),
                ("w4", "SLICE"),
                ("int16x8", "UNPACK"),
                ("int16x8", "SLICE"),
            )
        ),
    ],
)
@pytest.mark.slow
def test_loops_give_the_same_bytes_as_their_copies(recipe: str, cut: str) -> None:
    models = [quantized(recurrent_model(cell, cut=cut), recipe) for cell in CELLS]
    for model in models:
        assert [loop.steps for loop in loops(model)] == [STEPS]
        assert [op.name for op in roll_loops(model)[0].main.ops] == [LOOP, "FULLY_CONNECTED"]
    assert_exact(models)


def test_a_loop_can_begin_with_states_that_another_layer_computes() -> None:
    """Another layer computes the states before the first step."""
    n = RecurrentNet("lstm")
    rows = n.steps_of(n.input((1, STEPS, FEATURES), "float32"))
    start = n.layer("TANH", [n.dense(rows[0], UNITS)], (1, UNITS))
    n.recurrent(rows[:1])  # creates the weights that the steps read
    h, c = start, start
    for row in rows:
        h, c = n._lstm(row, h, c)
    model = quantized(n.model([h, c]))
    (loop,) = loops(model)
    assert loop.steps == STEPS and len(loop.finals) == 2
    assert_exact([model])


@pytest.mark.slow
def test_the_outputs_of_all_steps_are_one_tensor() -> None:
    models = [quantized(sequence_model(r, outputs=o)) for r in (False, True) for o in ("all", "both", "some")]
    for model, is_reverse in zip(models, [False] * 3 + [True] * 3, strict=True):
        (loop,) = loops(model)
        (part,) = loop.sequences
        assert (part.stride < 0) == (is_reverse and part.start > 0)
        names = [op.name for op in roll_loops(model)[0].main.ops]
        assert "PACK" not in names and "UNPACK" not in names
    assert_exact(models)


def test_a_value_that_all_steps_read_is_not_overwritten() -> None:
    n = RecurrentNet("rnn", folded=False)
    x = n.input((1, STEPS, FEATURES), "float32")
    other = n.layer("TANH", [n.dense(n.input((1, 4), "float32"), UNITS)], (1, UNITS))
    rows = n.steps_of(x)
    n.recurrent(rows[:1])  # creates the weights that the steps read
    h = n.real(np.zeros((1, UNITS)))
    for row in rows:
        h, _ = n._rnn(row, h, -1)
        h = n._binary("MUL", h, other)
    model = quantized(n.model([h]))
    (loop,) = loops(model)
    assert len(loop.initial) == 2 and len(loop.carried) == 1
    assert_exact([model])


def test_a_layer_after_each_step_is_part_of_the_loop() -> None:
    n = RecurrentNet("gru")
    hidden = n.recurrent(n.steps_of(n.input((1, STEPS, FEATURES), "float32")))
    weights, bias = n.random(3, UNITS), n.random(3)
    every = n.pack([n._dense(h, weights, bias) for h in hidden])
    model = quantized(n.model([every]))
    (loop,) = loops(model)
    assert loop.steps == STEPS
    assert [op.name for op in roll_loops(model)[0].main.ops] == [LOOP]
    assert_exact([model])


def test_layers_that_need_each_other_s_last_step_do_not_become_a_cycle() -> None:
    """Each step of one layer is multiplied by the last step of the other one. Only one of the products is in a loop."""
    n = RecurrentNet("rnn", folded=False)
    a, b = (n.recurrent(n.steps_of(n.input((1, STEPS, FEATURES), "float32"))) for _ in range(2))
    products = [[n._binary("MUL", h, last) for h in hidden] for hidden, last in ((a, b[-1]), (b, a[-1]))]
    model = quantized(n.model([n.pack(rows) for rows in products]))
    assert [loop.steps for loop in loops(model)] == [STEPS, STEPS]
    assert [op.name for op in roll_loops(model)[0].main.ops].count("MUL") == STEPS
    assert_exact([model])


def test_a_variable_is_read_after_it_is_written() -> None:
    """A step in the middle of the body writes a variable, which is read before the last step."""
    n = RecurrentNet("rnn", folded=False)
    state = n.tensor((), "resource")
    n.add("VAR_HANDLE", [], [state], "VarHandleOptions", container="", shared_name="state")
    rows = n.steps_of(n.input((1, STEPS, FEATURES), "float32"))
    n.recurrent(rows[:1])  # creates the weights that the steps read
    h = n.real(np.zeros((1, UNITS)))
    for step, row in enumerate(rows):
        h, _ = n._rnn(row, h, -1)
        if step == 2:
            n.add("ASSIGN_VARIABLE", [state, h], [])
            read = n.layer("READ_VARIABLE", [state], (1, UNITS))
    (loop,) = loops(model := n.model([h, n._binary("ADD", read, h)]))
    assert loop.steps == STEPS
    names = [op.name for op in roll_loops(model)[0].main.ops]
    assert names.index(LOOP) < names.index("ASSIGN_VARIABLE") < names.index("READ_VARIABLE")


@pytest.mark.slow
def test_the_body_has_one_copy_of_the_constants() -> None:
    model = quantized(recurrent_model("gru", steps=12))
    plain, rolled = lower(model), lower(roll_loops(model)[0])
    assert sum(c.nbytes for c in rolled.constants) <= sum(c.nbytes for c in plain.constants)
    assert constant_bytes(roll_loops(model)[0].main) > 3 * UNITS * (FEATURES + UNITS)
    assert rolled.plan.arena_bytes <= plain.plan.arena_bytes
    (layer,) = (layer for layer in rolled.layers if layer.op.name == LOOP)
    assert layer.call is not None and len(layer.call.body) == len(layer.body) < 20
    assert layer.macs == sum(item.macs for item in plain.layers[:-1])


def test_a_model_without_copies_is_not_changed() -> None:
    model = quantized(recurrent_model("rnn", steps=2))
    assert roll_loops(model) == (model, ())


@pytest.mark.parametrize("state_is_output", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_no_copy_between_steps_overwrites_a_state(state_is_output: bool) -> None:
    """Small layers share the memory of a state with the next value of another state: the order of the copies
    matters."""
    models = []
    for units in (3, 6, 12, 20):
        n = RecurrentNet("lstm", folded=False, seed=units)
        rows = n.steps_of(n.input((1, 8, FEATURES), "float32"))
        h, c = (n.input((1, units), "float32") for _ in range(2))
        n.recurrent(rows[:1], units)  # creates the weights that ``_lstm`` reads
        for row in rows:
            h, c = n._lstm(row, h, c)
        models.append(quantized(n.model([h, c] if state_is_output else [n.dense(h, 4), n.dense(c, 4)])))
    for model in models:
        assert len(loops(model)) == 1
    assert_exact(models)
