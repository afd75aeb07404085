"""Simplified float graphs compute the same values with fewer or different operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.weights.integer_weights import sqnr_db
from arenite.converters.tflite.litert.interpreter import run_outputs
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.float_models import FloatNet, classifier, samples_for
from tests.converters.quantize.quantized_runs import run

SHAPE = (1, 4, 4, 6)

#: A function that adds operators which read a tensor to a network, and returns their output.
OperatorBuilder = Callable[[FloatNet, int], int]


def _step(name: str, options: str = "", **values: Any) -> OperatorBuilder:
    """Return a builder for an operator with one input."""
    return lambda n, x: n.layer(name, [x], SHAPE, options, **values)


def _with(name: str, constant: Callable[[FloatNet], int], **values: Any) -> OperatorBuilder:
    """Return a builder for an operator whose second input is a constant."""
    return lambda n, x: n.layer(name, [x, constant(n)], SHAPE, f"{name.title()}Options", **values)


def _batch_norm(n: FloatNet, x: int) -> int:
    """Add a batch normalization and a RELU6."""
    y = _with("MUL", lambda n: n.random(6))(n, x)
    y = _with("SUB", lambda n: n.random(1, 1, 1, 6))(n, y)
    return n.layer("RELU6", [y], SHAPE)


def _sum(n: FloatNet, x: int) -> int:
    """Add the sum over rows and columns."""
    return n.layer("SUM", [x, n.ints([1, 2])], (1, 6), "ReducerOptions", keep_dims=False)


def _pooled(*kept_axes: int) -> OperatorBuilder:
    """Return a builder for the mean of a transposed value over all axes except ``kept_axes``."""

    def build(n: FloatNet, x: int) -> int:
        y = n.layer("TRANSPOSE", [x, n.ints([0, 3, 1, 2])], (1, 6, 4, 4), "TransposeOptions")
        axes = [k for k in range(4) if k not in kept_axes]
        shape = tuple((1, 6, 4, 4)[k] for k in kept_axes)
        return n.layer("MEAN", [y, n.ints(axes)], shape, "ReducerOptions", keep_dims=False)

    return build


#: By name of the case: a builder of operators after a convolution, and the names of all operators after simplification.
CASES: dict[str, tuple[OperatorBuilder, list[str]]] = {
    "negation": (_step("NEG", "NegOptions"), ["CONV_2D"]),
    "square": (_step("SQUARE", "SquareOptions"), ["CONV_2D", "MUL"]),
    "division": (_with("DIV", lambda n: n.real(np.linspace(1, 3, 6))), ["CONV_2D"]),
    "sum": (_sum, ["CONV_2D", "MEAN", "MUL"]),
    "relu": (_step("RELU"), ["CONV_2D"]),
    "batch normalization": (_batch_norm, ["CONV_2D"]),
    "scalar": (_with("ADD", lambda n: n.real(0.25), fused_activation_function=1), ["CONV_2D"]),
    "pooling of channels first": (_pooled(0, 1), ["CONV_2D", "MEAN"]),
    "mean over channels and rows": (_pooled(0, 3), ["CONV_2D", "MEAN"]),
    "an order that stays": (_pooled(0, 1, 2), ["CONV_2D", "TRANSPOSE", "MEAN"]),
    "a map stays": (_with("ADD", lambda n: n.random(4, 4, 6)), ["CONV_2D", "ADD"]),
}


def _names(flatbuffer: bytes) -> list[str]:
    """Return the names of the operators."""
    return [op.name for op in parse(flatbuffer).main.ops]


def _model(build: OperatorBuilder) -> Model:
    """Return a convolution followed by the operators that ``build`` adds."""
    n = FloatNet(11)
    x = n.input((1, 4, 4, 3), "float32")
    return n.model([build(n, n.conv(x, 6, relu=False))])


@pytest.mark.parametrize("case", sorted(CASES))
def test_operators_are_simplified_without_changing_values(case: str) -> None:
    build, names = CASES[case]
    model = _model(build)
    flatbuffer = to_flatbuffer(model)
    simplified, notes = simplify(flatbuffer)
    assert _names(simplified) == names
    assert bool(notes) == ("stays" not in case)
    data = samples_for(model).inputs
    for (before,), (after,) in zip(run_outputs(flatbuffer, data), run_outputs(simplified, data), strict=True):
        assert before.shape == after.shape
        assert np.allclose(before, after, rtol=1e-5, atol=1e-5)
    assert simplify(simplified) == (simplified, ())


def test_depthwise_and_dense_layers_absorb_operators_too() -> None:
    n = FloatNet(12)
    x = n.input((1, 4, 4, 6), "float32")
    a = _batch_norm(n, n.depthwise(x, relu=False))
    flat = n.flat(a)
    w = n.random(5, 96, scale=0.1)
    b = n.layer("FULLY_CONNECTED", [flat, w, -1], (1, 5), "FullyConnectedOptions")
    y = n.layer("ADD", [b, n.random(5)], (1, 5), "AddOptions")
    model = n.model([y])
    flatbuffer = to_flatbuffer(model)
    simplified, _ = simplify(flatbuffer)
    assert _names(simplified) == ["DEPTHWISE_CONV_2D", "RESHAPE", "FULLY_CONNECTED"]
    data = samples_for(model).inputs
    for (before,), (after,) in zip(run_outputs(flatbuffer, data), run_outputs(simplified, data), strict=True):
        assert np.allclose(before, after, rtol=1e-5, atol=1e-5)


def test_a_value_with_other_readers_is_not_changed() -> None:
    n = FloatNet(13)
    x = n.input((1, 4, 4, 3), "float32")
    a = n.conv(x, 6, relu=False)
    b = n.layer("RELU", [a], SHAPE)
    c = n.layer("ADD", [a, b], SHAPE, "AddOptions")
    for flatbuffer in (n.bytes(c), n.bytes(c, a)):
        assert simplify(flatbuffer) == (flatbuffer, ())
    plain = to_flatbuffer(classifier())
    assert simplify(plain) == (plain, ())


def test_batch_normalization_folded_into_weights_quantizes_better() -> None:
    model = _model(_batch_norm)
    flatbuffer, data = to_flatbuffer(model), samples_for(model)
    quality = []
    for source in (flatbuffer, simplify(flatbuffer)[0]):
        quantized = quantize(source, load_recipe("int8"), observe(source, data))
        quality.append(sqnr_db(run(flatbuffer, data.inputs), run(quantized.flatbuffer, data.inputs)))
    assert quality[1] > quality[0] + 2


@pytest.mark.parametrize(
    ("kernel", "stride", "pads", "fill", "changes"),
    [
        (3, 2, ((1, 1), (1, 1)), -np.inf, True),  # PyTorch's MaxPool2d(3, 2, padding=1)
        (2, 1, ((1, 0), (0, 1)), np.finfo(np.float32).min, True),
        (5, 3, ((2, 2), (2, 1)), -np.inf, True),
        # Some windows would contain only one row that is not padding.
        (
            3,
            1,
            ((2, 0), (0, 0)),
            -np.inf,
            False,
        ),
        (3, 2, ((1, 1), (1, 1)), -3.0, False),  # the fill value can be the largest value of a window
    ],
)
def test_a_pad_before_a_max_pool_becomes_a_mirror_pad_if_its_fill_value_is_never_the_largest(
    kernel: int, stride: int, pads: tuple[tuple[int, int], ...], fill: float, changes: bool
) -> None:
    n = FloatNet(14)
    x = n.conv(n.input((1, 7, 6, 3), "float32"), 6, relu=False)
    sides = [7 + sum(pads[0]), 6 + sum(pads[1])]
    pad_values = np.array([(0, 0), *pads, (0, 0)], np.int32)
    paddings = n.tensor(pad_values.shape, "int32", data=pad_values)
    a = n.layer("PADV2", [x, paddings, n.real([fill])], (1, *sides, 6), "PadV2Options")
    out = (1, *((side - kernel) // stride + 1 for side in sides), 6)
    window = {"filter_height": kernel, "filter_width": kernel, "stride_h": stride, "stride_w": stride}
    model = n.model([n.layer("MAX_POOL_2D", [a], out, "Pool2DOptions", padding=1, **window)])
    flatbuffer = to_flatbuffer(model)
    simplified, notes = simplify(flatbuffer)
    assert _names(simplified)[1] == ("MIRROR_PAD" if changes else "PADV2") and bool(notes) == changes
    data = samples_for(model).inputs
    for (before,), (after,) in zip(run_outputs(flatbuffer, data), run_outputs(simplified, data), strict=True):
        assert np.array_equal(before, after)
