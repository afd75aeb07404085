"""Ranges that training chose: taken out of the graph, and used instead of calibrated ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.calibration.trained_ranges import NAME, trained_ranges
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.tflite.litert.interpreter import run_outputs
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.float_models import FloatNet, samples_for

SHAPE = (1, 4, 4, 5)


def marked(pairs: bool, *, last: bool = False) -> Model:
    """Two convolutions with a stated range of -1.28 to 1.27 between them, or behind them."""
    n = FloatNet(2)
    x = n.input((1, 4, 4, 3), "float32")

    def mark(y: int) -> int:
        if not pairs:
            return n.layer("FAKE_QUANT", [y], SHAPE, "FakeQuantOptions", min=-1.28, max=1.27, num_bits=8)
        q = n.op("QUANTIZE", [y], SHAPE, "int8", options="QuantizeOptions", quant=Quantization((0.01,), (0,)))
        return n.layer("DEQUANTIZE", [q], SHAPE, "DequantizeOptions")

    a = n.conv(x, 5, relu=False)
    y = mark(n.conv(a, 5)) if last else n.conv(mark(a), 5)
    return n.model([y])


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("pairs", [False, True])
def test_the_range_becomes_that_of_the_tensor(pairs: bool, last: bool) -> None:
    model = marked(pairs, last=last)
    made, notes = simplify(to_flatbuffer(model))
    assert [op.name for op in parse(made).main.ops] == ["CONV_2D", "CONV_2D"]
    assert len(notes) == 1
    assert "-1.28 to 1.27" in notes[0]
    assert list(trained_ranges(parse(made)).values()) == [pytest.approx((-1.28, 1.27))]
    found = quantize(made, load_recipe("int8"), observe(made, samples_for(model)))
    g = parse(found.flatbuffer)
    t = g.main.tensors[g.main.ops[1 if last else 0].outputs[0]]
    assert t.scale == pytest.approx(0.01)
    assert t.zero_point == 0
    assert NAME not in g.metadata


def test_without_the_marks_the_float_model_is_that_without_rounding() -> None:
    model = marked(False)
    made, _ = simplify(to_flatbuffer(model))
    g = model.main
    plain = replace(g, ops=(g.ops[0], replace(g.ops[2], inputs=(g.ops[1].inputs[0], *g.ops[2].inputs[1:]))))
    data = samples_for(model).inputs
    bare = to_flatbuffer(replace(model, subgraphs=(replace(plain, ops=(plain.ops[0], plain.ops[1])),)))
    for (a,), (b,) in zip(run_outputs(made, data), run_outputs(bare, data), strict=True):
        assert np.array_equal(a, b)


def test_an_entry_that_is_something_else_is_ignored() -> None:
    model = marked(False)
    for entry in (b"no JSON", b"[1]", b'{"t3": 4}', b'{"t3": [1, "x"]}', b'{"t3": [NaN, 1]}'):
        assert trained_ranges(replace(model, metadata={NAME: entry})) == {}
