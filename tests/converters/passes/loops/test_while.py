"""A loop is written to a .tflite file as a WHILE operator. LiteRT computes the same bytes with it as with the copies
that the loop replaces, and Arenite reads the WHILE as the same loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.graph.loop import Loop, loop_of
from arenite.converters.graph.model import Model, Subgraph
from arenite.converters.passes.loops.roll import roll_loops
from arenite.converters.passes.loops.while_reader import read_while
from arenite.converters.passes.loops.while_writer import has_loops, write_while
from arenite.converters.tflite.image import parse_image
from arenite.converters.tflite.int4 import int8_weights
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import UnsupportedModelError
from arenite.host.bench.native_model import build
from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import prepare_image
from tests.converters.passes.loops.recurrent_models import (
    CELLS,
    STEPS,
    UNITS,
    quantized,
    recurrent_model,
    sequence_model,
)
from tests.fuzz.comparison import CACHE, HOST_TARGETS, lower, random_input


def loops(model: Model) -> list[Loop]:
    """Return the loops of ``model``."""
    return [loop for op in model.main.ops if (loop := loop_of(op)) is not None]


def as_while(model: Model) -> bytes:
    """Return the file in which the loops of ``model``, a model with all copies, are WHILE operators."""
    rolled = roll_loops(int8_weights(model))[0]
    assert has_loops(rolled)
    return to_flatbuffer(write_while(rolled))


def assert_same(model: Model) -> None:
    """Check that LiteRT gives the same bytes for the copies and for WHILE, and that firmware made from the file with
    WHILE gives the same bytes."""
    flatbuffer = as_while(model)
    read = read_while(int8_weights(parse(flatbuffer)))
    assert [op.name for op in read.main.ops].count("WHILE") == 0 and len(read.subgraphs) == 1
    assert to_flatbuffer(write_while(read)) == flatbuffer
    original = roll_loops(model)[0]
    assert [op.name for op in read.main.ops] == [op.name for op in original.main.ops]
    copies, rolled, rng = Reference(to_flatbuffer(model)), Reference(flatbuffer), np.random.default_rng(1)
    targets = HOST_TARGETS[:2]
    generated = [lower(read, f"w{k}_", target) for k, target in enumerate(targets)]
    natives = build(generated, CACHE)
    for run in range(3):
        inputs = [random_input(model.main.tensors[i], rng) for i in model.main.inputs]
        expected = copies.run(inputs)
        for native in natives:
            native.fill_arena(0xA5 if run % 2 else 0x5A)
            for a, b in zip(expected, native.run(inputs), strict=True):
                np.testing.assert_array_equal(b, a)
        for a, b in zip(expected, rolled.run(inputs), strict=True):
            np.testing.assert_array_equal(b, a)


@pytest.mark.parametrize(
    "recipe", ["int8", *(pytest.param(r, marks=pytest.mark.slow) for r in ("w4", "int16x8"))]
)
@pytest.mark.parametrize("cell", CELLS)
def test_litert_computes_the_bytes_of_the_copies_with_the_loop(cell: str, recipe: str) -> None:
    for cut in ("UNPACK", "SLICE"):
        assert_same(quantized(recurrent_model(cell, cut=cut), recipe))


@pytest.mark.parametrize("outputs", ["all", "both", "some"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("recipe", ["int8", "int16x8"])
@pytest.mark.slow
def test_loops_over_sequences_in_both_directions_give_the_bytes_of_the_copies(
    reverse: bool, outputs: str, recipe: str
) -> None:
    assert_same(quantized(sequence_model(reverse, outputs=outputs), recipe))


@pytest.mark.slow
def test_the_file_has_the_same_size_for_any_number_of_steps() -> None:
    sizes = [len(as_while(quantized(recurrent_model("lstm", steps=steps)))) for steps in (8, 40)]
    assert abs(sizes[0] - sizes[1]) <= 64


def with_constant(model: Model, subgraph: int, name: str, values: Sequence[int]) -> Model:
    """Return ``model`` with other values in the constant ``name`` of a subgraph."""
    graph = model.subgraphs[subgraph]
    (t,) = (t for t in graph.tensors if t.name == name)
    tensors = list(graph.tensors)
    tensors[t.index] = replace(t, data=np.asarray(values, np.int32))
    return with_subgraph(model, subgraph, replace(graph, tensors=tuple(tensors)))


def with_subgraph(model: Model, subgraph: int, graph: Subgraph) -> Model:
    """Return ``model`` with another subgraph at this index."""
    graphs = list(model.subgraphs)
    graphs[subgraph] = graph
    return replace(model, subgraphs=tuple(graphs))


@pytest.mark.parametrize("steps", [STEPS + 1, 60_000, 0, -3])
def test_a_while_whose_steps_exceed_its_input_or_are_not_positive_is_not_read_as_a_loop(steps: int) -> None:
    model = parse(as_while(quantized(recurrent_model("gru"))))
    changed = with_constant(model, 1, "loop/steps", [steps])
    assert read_while(changed) is changed
    with pytest.raises(UnsupportedModelError, match="WHILE"):
        prepare_image(parse_image(to_flatbuffer(changed)), Path("changed.tflite"))


def test_an_operator_without_a_kernel_in_the_body_is_refused() -> None:
    model = parse(as_while(quantized(recurrent_model("rnn"))))
    body = model.subgraphs[2]
    ops = tuple(replace(op, name="SIN") if op.name == "TANH" else op for op in body.ops)
    changed = with_subgraph(model, 2, replace(body, ops=ops))
    with pytest.raises(UnsupportedModelError, match="SIN"):
        prepare_image(parse_image(to_flatbuffer(changed)), Path("changed.tflite"))


def test_an_operator_with_wrong_shapes_in_the_body_is_refused() -> None:
    model = parse(as_while(quantized(recurrent_model("rnn"))))
    body = model.subgraphs[2]
    (tanh,) = (op for op in body.ops if op.name == "TANH")
    tensors = list(body.tensors)
    tensors[tanh.inputs[0]] = replace(tensors[tanh.inputs[0]], shape=(1, UNITS * 4))
    changed = with_subgraph(model, 2, replace(body, tensors=tuple(tensors)))
    with pytest.raises(UnsupportedModelError):
        prepare_image(parse_image(to_flatbuffer(changed)), Path("changed.tflite"))
