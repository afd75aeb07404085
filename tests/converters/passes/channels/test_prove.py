"""The proof that a network with removed channels gives the same outputs accepts correct rewrites and refuses wrong
ones."""

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
    """Return two convolutions around a depthwise convolution. Channel 1 is always at its minimum, channel 3 at its
    maximum, because of their biases."""
    rng = np.random.default_rng(3)
    b = GraphBuilder()
    x = b.input((1, 4, 4, 2), "int8", quant(0))
    y = conv(b, x, rng.integers(1, 3, (4, 1, 1, 2)), [0, -(1 << 20), 1, 1 << 20])
    y = conv(b, y, rng.integers(1, 3, (1, 1, 1, 4)), [0, 0, 5, 0], name="DEPTHWISE_CONV_2D")
    conv(b, y, rng.integers(1, 3, (3, 1, 1, 4)), [1, 2, 3])
    return b.build().main


def edited(graph: Subgraph, op: int, position: int, change: Callable[[np.ndarray], np.ndarray]) -> Subgraph:
    """Return ``graph`` with a changed constant at input ``position`` of operator ``op``."""
    tensors = list(graph.tensors)
    t: Tensor = tensors[graph.ops[op].inputs[position]]
    assert t.data is not None
    tensors[t.index] = replace(t, data=change(t.data.copy()))
    return replace(graph, tensors=tuple(tensors))


def plus(*at: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that adds 1 to the element at index ``at`` of an array."""

    def change(data: np.ndarray) -> np.ndarray:
        data[at] += 1
        return data

    return change


def test_the_rewrite_is_proven() -> None:
    graph = network()
    intervals = analyze_intervals(graph)
    kept_channels = select_channels(graph, find_channel_groups(graph), intervals)
    assert {t: k.tolist() for t, k in kept_channels.items()} == {
        graph.ops[0].outputs[0]: [True, False, True, False],
        graph.ops[1].outputs[0]: [True, False, True, False],
    }
    prove(graph, rewrite(graph, kept_channels, intervals), kept_channels, intervals)


@pytest.mark.parametrize(
    ("op", "position", "change", "message"),
    [
        (0, 1, plus(1, 0, 0, 0), "other weights"),
        (0, 2, plus(0), "biases that do not include a removed constant"),
        (1, 1, plus(0, 0, 0, 1), "computes other channels"),
        (1, 2, plus(1), "computes other channels"),
        (2, 1, plus(2, 0, 0, 1), "other weights"),
        (2, 2, plus(1), "biases that do not include a removed constant"),
    ],
)
def test_a_wrong_constant_is_found(
    op: int, position: int, change: Callable[[np.ndarray], np.ndarray], message: str
) -> None:
    graph = network()
    intervals = analyze_intervals(graph)
    kept_channels = select_channels(graph, find_channel_groups(graph), intervals)
    wrong = edited(rewrite(graph, kept_channels, intervals), op, position, change)
    with pytest.raises(ProofError, match=f"operator {op} .*{message}"):
        prove(graph, wrong, kept_channels, intervals)


def test_a_channel_that_varies_cannot_be_removed() -> None:
    graph = network()
    intervals = analyze_intervals(graph)
    kept_channels = {graph.ops[i].outputs[0]: np.array([False, True, True, True]) for i in (0, 1)}
    with pytest.raises(ProofError, match="not constant"):
        prove(graph, rewrite(graph, kept_channels, intervals), kept_channels, intervals)


def test_a_channel_whose_sum_differs_at_the_border_cannot_be_removed() -> None:
    """A padded 3 x 3 convolution reads a constant channel, which adds less at the border."""
    rng = np.random.default_rng(3)
    b = GraphBuilder()
    x = b.input((1, 4, 4, 2), "int8", quant(0))
    y = conv(b, x, rng.integers(1, 3, (2, 1, 1, 2)), [0, 1 << 20])
    conv(b, y, rng.integers(1, 3, (3, 3, 3, 2)), [1, 2, 3])
    graph = b.build().main
    intervals = analyze_intervals(graph)
    kept_channels = {graph.ops[0].outputs[0]: np.array([True, False])}
    with pytest.raises(ProofError, match="biases that do not include a removed constant"):
        prove(graph, rewrite(graph, kept_channels, intervals), kept_channels, intervals)


def test_changed_options_scales_or_operators_are_found() -> None:
    graph = network()
    intervals = analyze_intervals(graph)
    kept_channels = select_channels(graph, find_channel_groups(graph), intervals)
    good = rewrite(graph, kept_channels, intervals)
    first = good.ops[0]
    other_activation = replace(first, options={**first.options, "fused_activation_function": 0})
    with pytest.raises(ProofError, match="other options"):
        prove(graph, replace(good, ops=(other_activation, *good.ops[1:])), kept_channels, intervals)
    tensors = list(good.tensors)
    w = tensors[first.inputs[1]]
    tensors[w.index] = replace(w, quant=quant(0, 2.0))
    with pytest.raises(ProofError, match="scales differently"):
        prove(graph, replace(good, tensors=tuple(tensors)), kept_channels, intervals)
    out = tensors[first.outputs[0]]
    tensors = list(good.tensors)
    tensors[out.index] = replace(out, quant=quant(-127))
    with pytest.raises(ProofError, match="differs from the old one"):
        prove(graph, replace(good, tensors=tuple(tensors)), kept_channels, intervals)
    with pytest.raises(ProofError, match="number of operators"):
        prove(graph, replace(good, ops=good.ops[:2]), kept_channels, intervals)
