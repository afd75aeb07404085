"""Ranges from quantization-aware training are moved from operators of the graph to metadata, and replace the calibrated
ranges."""

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


def model_with_range(with_quantize: bool, *, last: bool = False) -> Model:
    """Return two convolutions with a trained range of -1.28 to 1.27 between them or, if ``last``, after them.

    A QUANTIZE and a DEQUANTIZE state the range if ``with_quantize`` is true, else a FAKE_QUANT.
    """
    n = FloatNet(2)
    x = n.input((1, 4, 4, 3), "float32")

    def add_range(y: int) -> int:
        """Add the operators that state the range of ``y``, and return their output."""
        if not with_quantize:
            return n.layer("FAKE_QUANT", [y], SHAPE, "FakeQuantOptions", min=-1.28, max=1.27, num_bits=8)
        q = n.op("QUANTIZE", [y], SHAPE, "int8", options="QuantizeOptions", quant=Quantization((0.01,), (0,)))
        return n.layer("DEQUANTIZE", [q], SHAPE, "DequantizeOptions")

    a = n.conv(x, 5, relu=False)
    y = add_range(n.conv(a, 5)) if last else n.conv(add_range(a), 5)
    return n.model([y])


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("with_quantize", [False, True])
def test_a_trained_range_becomes_the_range_of_its_tensor(with_quantize: bool, last: bool) -> None:
    model = model_with_range(with_quantize, last=last)
    simplified, notes = simplify(to_flatbuffer(model))
    assert [op.name for op in parse(simplified).main.ops] == ["CONV_2D", "CONV_2D"]
    assert len(notes) == 1
    assert "-1.28 to 1.27" in notes[0]
    assert list(trained_ranges(parse(simplified)).values()) == [pytest.approx((-1.28, 1.27))]
    quantized = quantize(simplified, load_recipe("int8"), observe(simplified, samples_for(model)))
    g = parse(quantized.flatbuffer)
    t = g.main.tensors[g.main.ops[1 if last else 0].outputs[0]]
    assert t.scale == pytest.approx(0.01)
    assert t.zero_point == 0
    assert NAME not in g.metadata


def test_the_simplified_float_model_computes_without_rounding() -> None:
    model = model_with_range(False)
    simplified, _ = simplify(to_flatbuffer(model))
    g = model.main
    graph = replace(g, ops=(g.ops[0], replace(g.ops[2], inputs=(g.ops[1].inputs[0], *g.ops[2].inputs[1:]))))
    data = samples_for(model).inputs
    unrounded = to_flatbuffer(replace(model, subgraphs=(replace(graph, ops=(graph.ops[0], graph.ops[1])),)))
    for (a,), (b,) in zip(run_outputs(simplified, data), run_outputs(unrounded, data), strict=True):
        assert np.array_equal(a, b)


def test_a_malformed_metadata_entry_is_ignored() -> None:
    model = model_with_range(False)
    for entry in (
        b"no JSON",
        b"[1]",
        b'{"t3": 4}',
        b'{"t3": [1, "x"]}',
        b'{"t3": [NaN, 1]}',
        b'{"t3": [0, 1%s]}' % (400 * b"0"),
    ):
        assert trained_ranges(replace(model, metadata={NAME: entry})) == {}
