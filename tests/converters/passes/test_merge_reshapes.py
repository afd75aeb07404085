"""A chain of RESHAPE operators becomes one RESHAPE."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.passes.merge_reshapes import merge_reshapes
from tests.converters.passes.constant_channel_models import assert_same
from tests.converters.passes.layer_models import dense, quant
from tests.fuzz.graph_builder import GraphBuilder


def chain(shapes: list[tuple[int, ...]]) -> tuple[GraphBuilder, list[int]]:
    """Return a builder with a chain of RESHAPEs to ``shapes``, and the tensors of the chain."""
    b = GraphBuilder()
    tensors = [b.input((1, 2, 3, 4), "int8", quant(7))]
    for shape in shapes:
        y = b.tensor(shape, "int8", b[tensors[0]].quant)
        b.op("RESHAPE", [tensors[-1], b.const(shape, "int32")], [y], "ReshapeOptions", new_shape=None)
        tensors.append(y)
    return b, tensors


def names(model: Model) -> list[str]:
    """Return the names of the operators."""
    return [op.name for op in model.main.ops]


def test_a_chain_becomes_its_last_reshape() -> None:
    b, tensors = chain([(6, 4), (3, 8), (1, 24)])
    dense(b, tensors[-1], np.arange(48).reshape(2, 24), [1, 2])
    model = b.build()
    small, report = merge_reshapes(model)
    assert names(small) == ["RESHAPE", "FULLY_CONNECTED"]
    assert report is not None and len(report.notes) == 2
    assert_same(model, small)


def test_a_reshape_with_another_reader_stays() -> None:
    b, tensors = chain([(3, 8), (1, 24)])
    dense(b, tensors[1], np.arange(16).reshape(2, 8), [1, 2])
    model = b.build()
    small, _ = merge_reshapes(model)
    assert names(small).count("RESHAPE") == 2
    assert [op.inputs[0] for op in small.main.ops if op.name == "RESHAPE"] == [tensors[0]] * 2
    assert_same(model, small)


def test_a_single_reshape_is_not_changed() -> None:
    b, _ = chain([(1, 24)])
    model = b.build()
    assert merge_reshapes(model) == (model, None)
