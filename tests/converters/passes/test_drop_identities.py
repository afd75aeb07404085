"""Operators that return their input are removed. Operators that change the scale stay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.converters.passes.drop_identities import drop_identities
from tests.converters.passes.constant_channel_models import assert_same
from tests.converters.passes.layer_models import dense, quant
from tests.fuzz.graph_builder import GraphBuilder

Step = Callable[[GraphBuilder, int], int]


def reshape(b: GraphBuilder, x: int) -> int:
    y = b.tensor(b[x].shape, "int8", b[x].quant)
    b.op("RESHAPE", [x, b.const(b[x].shape, "int32")], [y], "ReshapeOptions", new_shape=None)
    return y


def quantize(b: GraphBuilder, x: int, to: Quantization | None = None) -> int:
    y = b.tensor(b[x].shape, "int8", to or b[x].quant)
    b.op("QUANTIZE", [x], [y], "QuantizeOptions", version=2)
    return y


def pad(b: GraphBuilder, x: int) -> int:
    y = b.tensor(b[x].shape, "int8", b[x].quant)
    b.op("PAD", [x, b.const(np.zeros((2, 2)), "int32")], [y], "PadOptions")
    return y


def concatenate(b: GraphBuilder, x: int) -> int:
    y = b.tensor(b[x].shape, "int8", b[x].quant)
    b.op("CONCATENATION", [x], [y], "ConcatenationOptions", version=2, axis=1)
    return y


def network(*steps: Step) -> Model:
    b = GraphBuilder()
    x = b.input((1, 6), "int8", quant(7))
    for step in steps:
        x = step(b, x)
    dense(b, x, np.arange(-6, 6).reshape(2, 6), [1, 2])
    return b.build()


@pytest.mark.parametrize("steps", [[reshape], [quantize], [pad], [concatenate], [reshape, pad, quantize]])
def test_identities_are_removed(steps: list[Step]) -> None:
    model = network(*steps)
    small, report = drop_identities(model)
    assert [op.name for op in small.main.ops] == ["FULLY_CONNECTED"]
    assert report is not None and len(report.notes) == len(steps)
    assert_same(model, small)


def test_a_change_of_scale_and_a_graph_output_stay() -> None:
    model = network(lambda b, x: quantize(b, x, quant(7, 0.25)))
    assert drop_identities(model) == (model, None)
    b = GraphBuilder()
    reshape(b, b.input((1, 6), "int8", quant(7)))
    model = b.build()
    assert drop_identities(model) == (model, None)
