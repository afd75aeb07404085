"""Tests of float32 inputs and outputs around a quantized network, run by LiteRT."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Signature
from arenite.converters.tflite.float_edges import quantized_values, real_values, with_float_edges
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.host.bench.reference import Reference
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import classifier, float_edges, quant, two_inputs


def _sixteen_bits() -> Model:
    b = GraphBuilder()
    x = b.input((1, 5), "int16", quant(0.001))
    y = b.tensor((1, 5), "int16", quant(1 / 32768))
    b.op("LOGISTIC", [x], [y])
    return b.build()


def _unsigned() -> Model:
    b = GraphBuilder()
    x = b.input((1, 7), "uint8", quant(0.02, 131))
    y = b.tensor((1, 7), "int8", quant(0.03, -5))
    b.op("QUANTIZE", [x], [y], "QuantizeOptions", 2)
    return b.build()


@pytest.mark.parametrize("model", [classifier(), two_inputs(), _sixteen_bits(), _unsigned()])
def test_the_network_computes_the_same_values(model: Model) -> None:
    outer = with_float_edges(model)
    data = to_flatbuffer(outer)
    assert parse(data).main.ops[0].name == "QUANTIZE"  # the file is valid for the reader, too
    own, other = Reference(to_flatbuffer(model)), Reference(data)
    graph, wrapped = model.main, outer.main
    assert {wrapped.tensors[i].dtype for i in (*wrapped.inputs, *wrapped.outputs)} == {"float32"}
    rng = np.random.default_rng(3)
    inputs = [graph.tensors[i] for i in graph.inputs]
    outputs = [graph.tensors[i] for i in graph.outputs]
    for _ in range(20):
        stored = []
        for t in inputs:
            limits = np.iinfo(t.dtype)
            stored.append(rng.integers(limits.min, limits.max, t.shape, t.dtype, endpoint=True))
        real = other.run([real_values(t, v) for t, v in zip(inputs, stored, strict=True)])
        for t, expected, value in zip(outputs, own.run(stored), real, strict=True):
            assert value.dtype == np.float32
            assert quantized_values(t, value).tobytes() == expected.tobytes()


@pytest.mark.parametrize(("dtype", "scale", "zero_point"), [("int8", 0.1, -3), ("uint8", 1 / 3, 200)])
def test_real_values_return_to_every_stored_value(dtype: str, scale: float, zero_point: int) -> None:
    b = GraphBuilder()
    tensor = b[b.input((256,), dtype, quant(scale, zero_point))]
    stored = np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1).astype(dtype)
    real = real_values(tensor, stored)
    assert real.dtype == np.float32 and np.ptp(real) == pytest.approx(255 * scale)
    assert (quantized_values(tensor, real) == stored).all()


def test_values_out_of_range_become_the_nearest_ones() -> None:
    b = GraphBuilder()
    tensor = b[b.input((4,), "int8", quant(0.5, 7))]
    real = np.array([1e6, -np.inf, np.nan, 0.0], np.float32)
    assert quantized_values(tensor, real).tolist() == [127, -128, 7, 7]


def test_a_tensor_that_is_input_and_output_is_converted_on_both_sides() -> None:
    b = GraphBuilder()
    x = b.input((1, 3), "int8", quant(0.1, 5))
    y = b.tensor((1, 3), "int8", quant(0.1, 5))
    b.op("RELU", [x], [y])
    model = b.build()
    graph = model.main
    both = Model((type(graph)("main", graph.tensors, graph.ops, (x,), (x, y, y)),))
    wrapped = with_float_edges(both).main
    assert [op.name for op in wrapped.ops] == ["QUANTIZE", "RELU", "DEQUANTIZE", "DEQUANTIZE"]
    assert wrapped.outputs[1] == wrapped.outputs[2] and wrapped.outputs[0] != wrapped.inputs[0]
    first, second, third = Reference(to_flatbuffer(with_float_edges(both))).run(
        [np.array([[-2, 0.3, 4]], np.float32)]
    )
    assert first[0] == pytest.approx([-2, 0.3, 4]) and second[0] == pytest.approx([0, 0.3, 4])
    assert (second == third).all()


def test_signatures_name_the_new_tensors_and_other_tensors_stay() -> None:
    model = classifier()
    x, y = model.main.inputs[0], model.main.outputs[0]
    named = Model(
        model.subgraphs,
        signatures=(Signature("serving", 0, (("in", x),), (("out", y),)),),
        metadata={"a": b"b"},
    )
    outer = with_float_edges(named)
    assert outer.signatures[0].inputs == (("in", outer.main.inputs[0]),)
    assert outer.signatures[0].outputs == (("out", outer.main.outputs[0]),)
    assert outer.main.inputs[0] != x and outer.metadata == {}
    reals = float_edges()
    assert with_float_edges(reals).main == reals.main  # nothing to convert
