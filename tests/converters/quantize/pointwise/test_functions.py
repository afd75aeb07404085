"""Groups of operators that compute a function of one variable are found, and replaced by one operator or a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.graph.model import Model, Quantization, Subgraph
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.quantize.pointwise.functions import pointwise_functions
from arenite.converters.quantize.pointwise.table import lookup_table, table_functions
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.tflite.litert.interpreter import run_outputs
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.float_models import FloatNet
from tests.converters.quantize.pointwise.activation_forms import FORMS, OperatorAdder
from tests.converters.quantize.quantized_runs import quality, quantized, run
from tests.example_count import example_count

SHAPE = (1, 12)


def model_of(name: str, shape: tuple[int, ...] = SHAPE) -> Model:
    """Return a model that computes only the activation form ``name``."""
    n = FloatNet(1)
    x = n.input(shape, "float32")
    return n.model([FORMS[name][0](OperatorAdder(n, shape), x)])


def between_dense_layers(name: str) -> Model:
    """Return a network whose activation reads values from about -12 to 12."""
    n = FloatNet(3)
    x = n.dense(n.layer("MUL", [n.input((1, 8), "float32"), n.real([4])], (1, 8), "MulOptions"), 12)
    return n.model([n.dense(FORMS[name][0](OperatorAdder(n, SHAPE), x), 4)])


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_one_function_with_the_right_values(name: str) -> None:
    (function,) = pointwise_functions(model_of(name).main)
    x = np.linspace(-15, 15, 301)
    np.testing.assert_allclose(function(x), FORMS[name][1](x), atol=1e-6)


@pytest.mark.parametrize("name", FORMS)
def test_forms_become_the_operator_that_tflite_has_for_them(name: str) -> None:
    flatbuffer = to_flatbuffer(model_of(name))
    simplified, notes = simplify(flatbuffer)
    names = [op.name for op in parse(simplified).main.ops]
    builtin = FORMS[name][2]
    if builtin:
        assert names == [builtin] and builtin in notes[-1]
        x = np.linspace(-10, 10, 12, dtype=np.float32).reshape(SHAPE)
        np.testing.assert_allclose(run(simplified, [[x]]), run(flatbuffer, [[x]]), atol=2e-4)
    else:
        assert len(names) > 1
    assert simplify(simplified) == (simplified, ())


@pytest.mark.parametrize("name", FORMS)
def test_int8_computes_every_form_with_one_rounding(name: str) -> None:
    """When each operator was quantized alone, softplus had an SQNR of only 3 dB, and ELU was rejected, because EXP
    of the largest value set the scale."""
    model = parse(simplify(to_flatbuffer(between_dense_layers(name)))[0])
    assert quality(model, load_recipe("int8")) > 31


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if not form[2]])
def test_litert_computes_the_table(name: str) -> None:
    """Every int8 value of the activation is the value of the function, rounded only once."""
    result, data = quantized(between_dense_layers(name), load_recipe("int8"))
    graph = parse(result.flatbuffer).main
    gather = next(op for op in graph.ops if op.name == "GATHER")
    cast_op = next(op for op in graph.ops if op.name == "CAST")
    part = Subgraph("part", graph.tensors, graph.ops, graph.inputs, (cast_op.inputs[0], gather.outputs[0]))
    outputs = run_outputs(
        to_flatbuffer(Model((part,))),
        [[np.clip(np.rint(v / graph.tensors[graph.inputs[0]].scale), -128, 127).astype(np.int8) for v in s]
         for s in data.inputs],
        exact=True,
    )  # fmt: skip
    source, out = graph.tensors[cast_op.inputs[0]], graph.tensors[gather.outputs[0]]
    for before, after in outputs:
        real = FORMS[name][1]((before.astype(np.float64) - source.zero_point) * source.scale)
        expected = np.clip(np.rint(real / out.scale) + out.zero_point, -128, 127)
        assert (
            np.count_nonzero(expected != after) <= 1
        )  # a value halfway between two integers can round either way


def test_a_value_with_other_readers_ends_the_function() -> None:
    """The result of EXP is also an output of the model. So it keeps its own tensor, and the operators after it are a
    separate function."""
    n = FloatNet(2)
    s = OperatorAdder(n, SHAPE)
    x = n.input(SHAPE, "float32")
    e = s.add("EXP", x)
    y = s.add("LOG", s.add("ADD", e, s.number(1)))
    functions = pointwise_functions(n.model([y, e]).main)
    assert [(f.source, f.result) for f in functions] == [(x, e), (e, y)]
    assert [f.result for f in table_functions(n.model([y, e]).main)] == [y]


def test_functions_of_two_tensors_and_of_channels_are_not_functions_of_one_variable() -> None:
    n = FloatNet(2)
    s = OperatorAdder(n, SHAPE)
    x, y = n.input(SHAPE, "float32"), n.input(SHAPE, "float32")
    total = s.add("ADD", s.add("EXP", x), s.add("EXP", y))
    scaled = s.add("MUL", total, n.random(12))
    functions = pointwise_functions(n.model([scaled]).main)
    assert [len(f.ops) for f in functions] == [1, 1] and {f.source for f in functions} == {x, y}


def test_a_group_that_is_accurate_without_a_table_is_not_changed() -> None:
    """SiLU is accurate on int8 without a table, and the firmware can run it row by row, which it cannot do with a
    table."""
    n = FloatNet(2)
    s = OperatorAdder(n, SHAPE)
    x = n.input(SHAPE, "float32")
    y = s.add("MUL", x, s.add("LOGISTIC", x))
    assert table_functions(n.model([y]).main) == ()


def test_operators_without_an_integer_kernel_get_a_table() -> None:
    n = FloatNet(9)
    x = n.input((1, 6), "float32")
    model = n.model([n.dense(n.layer("SIN", [n.dense(x, 6)], (1, 6)), 4)])
    result, _ = quantized(model, load_recipe("int8"))
    assert result.notes == ()
    names = [op.name for op in parse(result.flatbuffer).main.ops]
    assert names == ["FULLY_CONNECTED", "CAST", "ADD", "GATHER", "FULLY_CONNECTED"]
    assert quality(model, load_recipe("int8")) > 31


def test_undefined_values_get_the_nearest_defined_result() -> None:
    n = FloatNet(2)
    x = n.input(SHAPE, "float32")
    y = OperatorAdder(n, SHAPE).add("LOG", x)
    (function,) = pointwise_functions(n.model([y]).main)
    table = lookup_table(function, Quantization((0.1,), (0,)), Quantization((0.05,), (0,)))
    assert set(table[:128].tolist()) == {-128} and table[128] == -128  # log 0 is minus infinity
    assert table[128 + 10] == 0 and table[255] == round(np.log(12.7) / 0.05)


def test_only_int8_uses_a_table_and_only_if_the_last_operator_is_quantized() -> None:
    model = between_dense_layers("mish")
    wide, _ = quantized(model, load_recipe("int16x8"))
    assert any("no int16 kernel" in note for note in wide.notes)
    last = table_functions(model.main)[0].last.index
    alone, _ = quantized(model, load_recipe("int8"), only=[last])
    assert "GATHER" in [op.name for op in parse(alone.flatbuffer).main.ops]
    other, _ = quantized(model, load_recipe("int8"), only=[0, last - 2])
    assert "GATHER" not in [op.name for op in parse(other.flatbuffer).main.ops]


def with_used_operators(model: Model) -> Model:
    """Return the model without operators whose results are not used. The tensors keep their indices."""
    used, ops = {*model.main.outputs}, []
    for op in reversed(model.main.ops):
        if used.intersection(op.outputs):
            used |= {*op.inputs}
            ops.append(op)
    numbered = tuple(replace(op, index=k) for k, op in enumerate(reversed(ops)))
    return replace(model, subgraphs=(replace(model.main, ops=numbered),))


#: Functions that add operators which read the tensors ``a`` and ``b``, and return their output.
_STEPS: tuple[Callable[[OperatorAdder, int, int], int], ...] = (
    lambda s, a, b: s.add("ADD", a, b),
    lambda s, a, b: s.add("SUB", a, b),
    lambda s, a, b: s.add("MUL", s.add("TANH", a), b),
    lambda s, a, b: s.add("MAXIMUM", a, b),
    lambda s, a, b: s.add("DIV", a, s.add("ADD", s.add("ABS", b), s.number(0.5))),
    lambda s, a, b: s.add("EXP", s.add("MINIMUM", a, s.number(1.5))),
    lambda s, a, b: s.add("LOG", s.add("ADD", s.add("ABS", a), s.number(0.25))),
    lambda s, a, b: s.add("SELECT_V2", s.compare("GREATER", a, 0.3), a, b),
    lambda s, a, b: s.add("LOGISTIC", b),
    lambda s, a, b: s.add("ELU", a),
    lambda s, a, b: s.add("SUB", s.number(0.7), a),
    lambda s, a, b: s.add("RSQRT", s.add("ADD", s.add("MUL", a, a), s.number(0.1))),
)


@settings(max_examples=example_count(60), deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(_STEPS) - 1), st.integers(0, 9), st.integers(0, 9)), max_size=9))
def test_random_groups_compute_what_litert_computes(steps: list[tuple[int, int, int]]) -> None:
    n = FloatNet(4)
    s = OperatorAdder(n, (1, 64))
    values = [n.input((1, 64), "float32")]
    values.append(s.add("ABS", values[0]))
    for step, a, b in steps:
        values.append(_STEPS[step](s, values[a % len(values)], values[b % len(values)]))
    model = with_used_operators(n.model([values[-1]]))
    x = np.linspace(-4, 4, 64, dtype=np.float32)
    expected = run(to_flatbuffer(model), [[x.reshape(1, 64)]])[0].reshape(-1)
    (function,) = pointwise_functions(model.main)
    assert (function.source, function.result) == (values[0], values[-1])
    # At a jump of the function, float32 arithmetic may give the value of the other side.
    jump = np.abs(function(x + 1e-4) - function(x - 1e-4)) > 0.01
    np.testing.assert_allclose(function(x)[~jump], expected[~jump], rtol=1e-3, atol=1e-3)
