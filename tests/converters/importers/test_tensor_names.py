"""Tensor names are short and unique, so that recipes and reports can use them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arenite.converters.graph.model import Model
from arenite.converters.importers.tensor_names import shorten_tensor_names
from tests.converters.small_models import conv_net


def with_names(model: Model, names: dict[int, str]) -> Model:
    """Return ``model`` with the tensors of the main graph renamed by ``names`` (tensor index to name)."""
    g = model.main
    tensors = tuple(replace(t, name=names.get(t.index, t.name)) for t in g.tensors)
    return replace(model, subgraphs=(replace(g, tensors=tensors),))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("StatefulPartitionedCall/StatefulPartitionedCall/net/dense_1/MatMul", "net/dense_1/MatMul"),
        ("StatefulPartitionedCall:0;net/relu/Relu;net/bn/Add", "net/relu/Relu"),
        ("__main__._ChannelsLast/m.Net_module/torch.nn.modules.conv.Conv2d_3;", "Conv2d_3"),
        ("__main__._ChannelsLast;1", "conv_2d_0"),
        ("", "conv_2d_0"),
        ("stem", "stem"),
    ],
)
def test_a_layer_keeps_the_name_its_author_chose_or_is_named_after_its_operator(
    before: str, after: str
) -> None:
    model = conv_net()
    output = model.main.ops[0].outputs[0]
    assert shorten_tensor_names(with_names(model, {output: before})).main.tensors[output].name == after


def test_equal_names_get_a_number_first_for_constants() -> None:
    model = conv_net()
    g = model.main
    first, weights = g.ops[0].outputs[0], g.ops[0].inputs[1]
    renamed = shorten_tensor_names(
        with_names(model, {t.index: "block/x" for t in g.tensors if t.index not in g.inputs})
    )
    names = [t.name for t in renamed.main.tensors]
    assert len(set(names)) == len(names)
    assert names[g.outputs[0]] == "block/x"  # outputs keep their names
    shared = shorten_tensor_names(with_names(model, {first: "block/conv", weights: "block/conv"}))
    assert shared.main.tensors[first].name == "block/conv"
    assert shared.main.tensors[weights].name == f"block/conv_{weights}"
    assert shorten_tensor_names(shared) == shared
