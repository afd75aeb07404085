"""``simplify`` changes all time steps of an unrolled recurrent layer in the same pass over the graph."""

from __future__ import annotations

import pytest

from arenite.converters.graph.model import Model
from arenite.converters.quantize.graph.graph_draft import GraphDraft
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.passes.loops.recurrent_models import FEATURES, UNITS, RecurrentNet


def layer_with_separate_bias(steps: int) -> Model:
    """Return an unrolled SimpleRNN. As Keras writes it, each step adds the bias to the sum of the products of input and
    state. The first step has only the product of the input."""
    n = RecurrentNet("rnn")
    rows = n.steps_of(n.input((1, steps, FEATURES), "float32"))
    kernel, state, bias = n.random(UNITS, FEATURES), n.random(UNITS, UNITS), n.random(UNITS)
    h = n.layer("TANH", [n._dense(rows[0], kernel, -1)], (1, UNITS))
    for row in rows[1:]:
        total = n._binary("ADD", n._dense(row, kernel, -1), n._dense(h, state, -1))
        total = n.layer("ADD", [total, bias], (1, UNITS), "AddOptions")
        h = n.layer("TANH", [total], (1, UNITS))
    return n.model([n.dense(h, 3)])


def test_one_pass_changes_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []
    finish = GraphDraft.finish

    def counted(draft: GraphDraft) -> Model:
        """Record a pass over the graph, which ends with ``finish``."""
        passes.append(draft)
        return finish(draft)

    monkeypatch.setattr(GraphDraft, "finish", counted)
    flatbuffer, notes = simplify(to_flatbuffer(layer_with_separate_bias(40)))
    assert sum("part of the bias" in note for note in notes) == 39  # every step but the first
    assert len(passes) == 1
    names = [op.name for op in parse(flatbuffer).main.ops]
    assert names.count("ADD") == names.count("TANH") - 1
