"""Shape rules agree with LiteRT for every operator that the differential fuzzer can build. A shape that contradicts a
rule raises an error that names the tensor or the operator."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from arenite.converters.graph.model import Model, Op, Subgraph
from arenite.converters.graph.shapes import check_shapes, infer_shapes
from arenite.converters.graph.shapes.rule import RULES
from arenite.converters.importers.load import load_any
from arenite.converters.tflite.image import to_flatbuffer
from arenite.errors import UnsupportedModelError
from tests.converters import small_models
from tests.development_models import shared_model
from tests.fuzz.cases import load_all
from tests.fuzz.graph_builder import GraphBuilder

CASES = load_all()


def _litert_shapes(model: Model) -> dict[int, tuple[int, ...]]:
    """Return the shape of every tensor in LiteRT, by tensor index."""
    interpreter = Interpreter(
        model_content=to_flatbuffer(model),
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        experimental_preserve_all_tensors=True,
        num_threads=1,
    )
    interpreter.allocate_tensors()
    return {d["index"]: tuple(d["shape"].tolist()) for d in interpreter.get_tensor_details()}


def _compare(model: Model) -> set[str]:
    """Compare inferred shapes with LiteRT's and return the names of the operators that have a shape rule."""
    litert_shapes = _litert_shapes(model)
    compared = set()
    for op in model.main.ops:
        shapes = infer_shapes(model.main, op)
        if shapes is not None:
            assert shapes == tuple(litert_shapes[i] for i in op.outputs), (op.index, op.name)
            compared.add(op.name)
    check_shapes(model.main)
    return compared


# LiteRT has no signal operators. tests/converters/graph/signal compares them with TensorFlow Lite Micro.
@pytest.mark.parametrize("name", sorted(name for name in CASES if not name.startswith("CUSTOM")))
def test_rules_agree_with_litert(name: str) -> None:
    compared = set()
    for seed in range(4):
        builder = GraphBuilder(np.random.default_rng([seed, len(name)]))
        CASES[name](builder)
        compared |= _compare(builder.build())
    assert name in compared or name not in RULES


@pytest.mark.parametrize("name", small_models.ALL)
def test_small_models_have_the_shapes_of_litert(name: str) -> None:
    _compare(small_models.ALL[name]())


@pytest.mark.parametrize("name", ["ad01_int8", "ic01_int8", "kws01_float32", "vww01_int8", "sww01_int8"])
def test_every_operator_of_real_models_has_the_shapes_of_litert(name: str) -> None:
    model = load_any(shared_model(name))
    assert _compare(model) == {op.name for op in model.main.ops}


def _graph(model: Model, index: int, **changes: Any) -> Subgraph:
    """Return the main graph of ``model`` with changed fields of tensor ``index``."""
    tensors = list(model.main.tensors)
    tensors[index] = replace(tensors[index], **changes)
    return replace(model.main, tensors=tuple(tensors))


def test_a_wrong_shape_in_the_file_is_named() -> None:
    model = small_models.conv_net()
    out = model.main.ops[0].outputs[0]
    message = "operator 0 CONV_2D, tensor 3 't3', field shape: is [1, 9, 8, 4], but the operator gives [1, 8, 8, 4]."
    with pytest.raises(UnsupportedModelError, match=re.escape(message)):
        check_shapes(_graph(model, out, shape=(1, 9, 8, 4)))


#: (tensor index, changed fields, message)
WRONG = [
    (0, {"shape": (8, 8, 3)}, "operator 0 CONV_2D: the input [8, 8, 3] has 3 dimensions, expected 4."),
    (
        0,
        {"shape": (1, 8, 8, 4)},
        "operator 0 CONV_2D: 4 input channels are not a multiple of the weights' 3.",
    ),
    (2, {"shape": (5,)}, "operator 0 CONV_2D: the bias [5] does not have one value per output channel (4)."),
    (6, {"shape": (1, 7, 8, 4)}, "operator 1 DEPTHWISE_CONV_2D, tensor 6 't6', field shape: is [1, 7, 8, 4]"),
]


@pytest.mark.parametrize(("index", "changes", "message"), WRONG)
def test_inputs_that_do_not_fit_are_named(index: int, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedModelError, match=re.escape(message)):
        check_shapes(_graph(small_models.conv_net(), index, **changes))


def _options(op: int, **values: Any) -> Subgraph:
    """Return the main graph of the small network with changed options of operator ``op``."""
    main = small_models.conv_net().main
    ops = list(main.ops)
    ops[op] = replace(ops[op], options={**ops[op].options, **values})
    return replace(main, ops=tuple(ops))


def test_a_window_larger_than_the_input_is_an_error() -> None:
    message = "operator 3 MAX_POOL_2D: a window of 20 does not fit into 8 without padding."
    with pytest.raises(UnsupportedModelError, match=re.escape(message)):
        check_shapes(_options(3, filter_height=20))


def test_a_wrong_number_of_outputs_is_an_error() -> None:
    n = small_models.Net()
    x = n.input((1, 4))
    outs = [n.tensor((1, 2)) for _ in range(3)]
    n.add("SPLIT", [n.tensor((), "int32", data=1), x], outs, "SplitOptions", num_splits=2)
    with pytest.raises(UnsupportedModelError, match="operator 0 SPLIT: gives 2 tensors, but the file has 3"):
        check_shapes(n.model(outs).main)


def test_a_shape_that_depends_on_input_values_is_not_inferred() -> None:
    n = small_models.Net()
    x, size = n.input((1, 4)), n.input((2,), "int32")
    y = n.op("FILL", [size, n.tensor((), "int8", data=1)], (2, 2))
    assert infer_shapes(n.model([x, y]).main, n.ops[0]) is None


def test_shapes_of_unknown_operators_are_not_inferred() -> None:
    graph = replace(small_models.conv_net().main, ops=(Op(0, "HASHTABLE", (), (3,)),))
    assert infer_shapes(graph, graph.ops[0]) is None
