"""The proof refuses every rewrite that is not exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from arenite.converters.graph.model import Subgraph, Tensor
from arenite.converters.passes.channels.channel_groups import find_channel_groups
from arenite.converters.passes.channels.prove import ProofError, prove
from arenite.converters.passes.channels.rewrite import rewrite
from arenite.converters.passes.channels.select_channels import select_channels
from arenite.converters.passes.intervals import analyze_intervals
from tests.converters.passes.layer_models import conv, quant
from tests.fuzz.graph_builder import GraphBuilder


def network() -> Subgraph:
    """Two convolutions around a depthwise one; channel 1 is closed, channel 3 always full."""
    rng = np.random.default_rng(3)
    b = GraphBuilder()
    x = b.input((1, 4, 4, 2), "int8", quant(0))
    y = conv(b, x, rng.integers(1, 3, (4, 1, 1, 2)), [0, -(1 << 20), 1, 1 << 20])
    y = conv(b, y, rng.integers(1, 3, (1, 1, 1, 4)), [0, 0, 5, 0], name="DEPTHWISE_CONV_2D")
    conv(b, y, rng.integers(1, 3, (3, 1, 1, 4)), [1, 2, 3])
    return b.build().main


def edited(graph: Subgraph, op: int, position: int, change: Callable[[np.ndarray], np.ndarray]) -> Subgraph:
    """``graph`` with another constant at an input of an operator."""
    tensors = list(graph.tensors)
    t: Tensor = tensors[graph.ops[op].inputs[position]]
    assert t.data is not None
    tensors[t.index] = replace(t, data=change(t.data.copy()))
    return replace(graph, tensors=tuple(tensors))


def plus(*at: int) -> Callable[[np.ndarray], np.ndarray]:
    def change(data: np.ndarray) -> np.ndarray:
        data[at] += 1
        return data

    return change


def test_the_rewrite_is_proven() -> None:
    graph = network()
    known = analyze_intervals(graph)
    kept = select_channels(graph, find_channel_groups(graph), known)
    assert {t: k.tolist() for t, k in kept.items()} == {
        graph.ops[0].outputs[0]: [True, False, True, False],
        graph.ops[1].outputs[0]: [True, False, True, False],
    }
    prove(graph, rewrite(graph, kept, known), kept, known)


@pytest.mark.parametrize(
    ("op", "position", "change", "words"),
    [
        (0, 1, plus(1, 0, 0, 0), "other weights"),
        (0, 2, plus(0), "miss a lost constant"),
        (1, 1, plus(0, 0, 0, 1), "computes other channels"),
        (1, 2, plus(1), "computes other channels"),
        (2, 1, plus(2, 0, 0, 1), "other weights"),
        (2, 2, plus(1), "miss a lost constant"),
    ],
)
def test_a_wrong_constant_is_found(
    op: int, position: int, change: Callable[[np.ndarray], np.ndarray], words: str
) -> None:
    graph = network()
    known = analyze_intervals(graph)
    kept = select_channels(graph, find_channel_groups(graph), known)
    wrong = edited(rewrite(graph, kept, known), op, position, change)
    with pytest.raises(ProofError, match=f"operator {op} .*{words}"):
        prove(graph, wrong, kept, known)


def test_a_channel_that_varies_cannot_go() -> None:
    graph = network()
    known = analyze_intervals(graph)
    kept = {graph.ops[i].outputs[0]: np.array([False, True, True, True]) for i in (0, 1)}
    with pytest.raises(ProofError, match="not constant"):
        prove(graph, rewrite(graph, kept, known), kept, known)


def test_a_border_is_found() -> None:
    """The full channel read by a padded 3 x 3 convolution adds less at the border."""
    rng = np.random.default_rng(3)
    b = GraphBuilder()
    x = b.input((1, 4, 4, 2), "int8", quant(0))
    y = conv(b, x, rng.integers(1, 3, (2, 1, 1, 2)), [0, 1 << 20])
    conv(b, y, rng.integers(1, 3, (3, 3, 3, 2)), [1, 2, 3])
    graph = b.build().main
    known = analyze_intervals(graph)
    kept = {graph.ops[0].outputs[0]: np.array([True, False])}
    with pytest.raises(ProofError, match="miss a lost constant"):
        prove(graph, rewrite(graph, kept, known), kept, known)


def test_options_scales_and_operators_must_stay() -> None:
    graph = network()
    known = analyze_intervals(graph)
    kept = select_channels(graph, find_channel_groups(graph), known)
    good = rewrite(graph, kept, known)
    first = good.ops[0]
    strided = replace(first, options={**first.options, "fused_activation_function": 0})
    with pytest.raises(ProofError, match="other options"):
        prove(graph, replace(good, ops=(strided, *good.ops[1:])), kept, known)
    tensors = list(good.tensors)
    w = tensors[first.inputs[1]]
    tensors[w.index] = replace(w, quant=quant(0, 2.0))
    with pytest.raises(ProofError, match="scales differently"):
        prove(graph, replace(good, tensors=tuple(tensors)), kept, known)
    out = tensors[first.outputs[0]]
    tensors = list(good.tensors)
    tensors[out.index] = replace(out, quant=quant(-127))
    with pytest.raises(ProofError, match="not the old one"):
        prove(graph, replace(good, tensors=tuple(tensors)), kept, known)
    with pytest.raises(ProofError, match="number of operators"):
        prove(graph, replace(good, ops=good.ops[:2]), kept, known)
