"""A repeated body is a sequence of operators that a graph repeats with the same weights, such as the steps of an
unrolled recurrent layer. These tests check which bodies ``find_repeated_bodies`` finds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arenite.converters.graph.model import Model
from arenite.converters.passes.loops.repeated_body import MIN_STEPS, find_repeated_bodies
from tests.converters.passes.loops.recurrent_models import (
    CELLS,
    FEATURES,
    STEPS,
    UNITS,
    RecurrentNet,
    quantized,
    recurrent_model,
)

#: The number of operators of one step of each cell.
OPERATORS = {"lstm": 13, "gru": 15, "rnn": 4}


@pytest.mark.parametrize("cut", ["UNPACK", "SLICE"])
@pytest.mark.parametrize("cell", CELLS)
def test_the_steps_of_a_recurrent_layer_are_a_body(cell: str, cut: str) -> None:
    for folded in (True, False):
        graph = recurrent_model(cell, cut=cut, folded=folded).main
        (body,) = find_repeated_bodies(graph)
        assert body.steps == STEPS - folded
        assert len(body.lanes) == OPERATORS[cell]
        for lane in body.lanes:
            assert len({graph.ops[k].name for k in lane}) == 1 and list(lane) == sorted(lane)
        # bytes: the start of the first step's part of the input, and the distance to that of the next step
        slices = {(i.start, i.stride) for row in body.inputs for i in row if i.kind == "slice"}
        assert slices == {(4 * FEATURES * folded, 4 * FEATURES)}
        carried = {i.lane for row in body.inputs for i in row if i.kind == "carried"}
        assert len(carried) == (2 if cell == "lstm" else 1)


def test_every_layer_and_every_direction_is_a_separate_body() -> None:
    n = RecurrentNet("gru")
    rows = n.steps_of(n.input((1, STEPS, FEATURES), "float32"))
    first = n.recurrent(rows)
    packed = n.pack(first)
    again = n.layer("RESHAPE", [packed, n.ints([1, STEPS, UNITS])], (1, STEPS, UNITS), "ReshapeOptions")
    last = n.recurrent(n.steps_of(again))[-1]
    back = n.recurrent(rows[::-1])[-1]
    bodies = find_repeated_bodies(n.model([last, back]).main)
    assert [body.steps for body in bodies] == [STEPS - 1] * 3
    strides = [{i.stride for row in body.inputs for i in row if i.kind == "slice"} for body in bodies]
    assert sorted(map(list, strides)) == [[-4 * FEATURES], [4 * FEATURES], [4 * UNITS]]


def with_other_weights(model: Model, step: int) -> Model:
    """Return ``model`` with another kernel in one step."""
    graph = model.main
    dense = [op for op in graph.ops if op.name == "FULLY_CONNECTED"]
    op = dense[2 * step]
    weights = graph.tensors[op.inputs[1]]
    assert weights.data is not None
    other = replace(weights, index=len(graph.tensors), data=weights.data * 2)
    ops = list(graph.ops)
    ops[op.index] = replace(op, inputs=(op.inputs[0], other.index, *op.inputs[2:]))
    return replace(model, subgraphs=(replace(graph, tensors=(*graph.tensors, other), ops=tuple(ops)),))


def test_a_step_with_other_weights_is_not_in_a_body() -> None:
    model = with_other_weights(recurrent_model("rnn", folded=False), 3)
    bodies = find_repeated_bodies(model.main)
    changed = [op for op in model.main.ops if op.name == "FULLY_CONNECTED"][6].index
    assert all(changed not in body.ops for body in bodies)


def test_layers_with_equal_weights_that_do_not_depend_on_each_other_are_no_body() -> None:
    n = RecurrentNet("rnn")
    rows = n.steps_of(n.input((1, STEPS, FEATURES), "float32"))
    weights = n.random(UNITS, FEATURES)
    outputs = [
        n.layer("FULLY_CONNECTED", [r, weights, -1], (1, UNITS), "FullyConnectedOptions") for r in rows
    ]
    assert find_repeated_bodies(n.model(outputs).main) == ()


def test_a_body_needs_a_minimum_number_of_repetitions() -> None:
    """The first step is folded, so there are one fewer repetitions than steps."""
    assert find_repeated_bodies(recurrent_model("lstm", steps=MIN_STEPS).main) == ()
    assert len(find_repeated_bodies(recurrent_model("lstm", steps=MIN_STEPS + 1).main)) == 1


@pytest.mark.parametrize("cell", CELLS)
def test_the_steps_of_a_quantized_layer_are_a_body(cell: str) -> None:
    (body,) = find_repeated_bodies(quantized(recurrent_model(cell)).main)
    assert body.steps == STEPS


def test_a_step_with_another_scale_is_not_in_a_body() -> None:
    graph = quantized(recurrent_model("rnn")).main
    middle_add = [op for op in graph.ops if op.name == "ADD"][STEPS // 2]
    tensors = list(graph.tensors)
    t = tensors[middle_add.outputs[0]]
    assert t.quant is not None
    tensors[t.index] = replace(t, quant=replace(t.quant, scale=(t.scale * 2,)))
    assert all(
        middle_add.index not in b.ops for b in find_repeated_bodies(replace(graph, tensors=tuple(tensors)))
    )
