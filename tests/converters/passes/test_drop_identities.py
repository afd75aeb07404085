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

#: Appends an operator to a graph: takes the builder and an input tensor, and returns the output tensor.
Step = Callable[[GraphBuilder, int], int]


def reshape(b: GraphBuilder, x: int) -> int:
    """Append a RESHAPE to the same shape."""
    y = b.tensor(b[x].shape, "int8", b[x].quant)
    b.op("RESHAPE", [x, b.const(b[x].shape, "int32")], [y], "ReshapeOptions", new_shape=None)
    return y


def quantize(b: GraphBuilder, x: int, to: Quantization | None = None) -> int:
    """Append a QUANTIZE to the same quantization, or to ``to``."""
    y = b.tensor(b[x].shape, "int8", to or b[x].quant)
    b.op("QUANTIZE", [x], [y], "QuantizeOptions", version=2)
    return y


def pad(b: GraphBuilder, x: int) -> int:
    """Append a PAD by zero elements."""
    y = b.tensor(b[x].shape, "int8", b[x].quant)
    b.op("PAD", [x, b.const(np.zeros((2, 2)), "int32")], [y], "PadOptions")
    return y


def concatenate(b: GraphBuilder, x: int) -> int:
    """Append a CONCATENATION of a single tensor."""
    y = b.tensor(b[x].shape, "int8", b[x].quant)
    b.op("CONCATENATION", [x], [y], "ConcatenationOptions", version=2, axis=1)
    return y


def network(*steps: Step) -> Model:
    """Return a model with ``steps`` before a fully connected layer."""
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


def test_operators_that_change_the_scale_or_compute_a_graph_output_are_kept() -> None:
    model = network(lambda b, x: quantize(b, x, quant(7, 0.25)))
    assert drop_identities(model) == (model, None)
    b = GraphBuilder()
    reshape(b, b.input((1, 6), "int8", quant(7)))
    model = b.build()
    assert drop_identities(model) == (model, None)
