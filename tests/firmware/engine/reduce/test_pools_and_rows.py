"""Pools and operators along the last axis give LiteRT's bytes, and unsupported operators are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.converters.graph.quantized_arithmetic import conv_padding
from arenite.firmware.generator.operator_needs import check_supported
from tests.firmware.engine.conv.convolution_graphs import assert_refused, changed
from tests.fuzz.comparison import compare, lower
from tests.fuzz.fixed_graphs import assert_bit_exact
from tests.fuzz.graph_builder import GraphBuilder

POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
#: Maps an operator and its type to the quantization that TFLite prescribes for its output.
OUTPUT = {
    ("SOFTMAX", "int8"): Quantization((1 / 256,), (-128,)),
    ("SOFTMAX", "int16"): Quantization((1 / 32768,), (0,)),
    ("LOG_SOFTMAX", "int8"): Quantization((1 / 16,), (127,)),
    ("L2_NORMALIZATION", "int8"): Quantization((1 / 128,), (0,)),
}
OPTIONS = {
    "SOFTMAX": "SoftmaxOptions",
    "LOG_SOFTMAX": "LogSoftmaxOptions",
    "L2_NORMALIZATION": "L2NormOptions",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*POOLS, "SOFTMAX", "SOFTMAX from int8 to int16", "LOG_SOFTMAX", "L2_NORMALIZATION"]
)
def test_random_graphs_are_exact(name: str) -> None:
    assert_bit_exact(name, graphs=30)


def pool(
    name: str, shape: tuple[int, int, int, int], window: int, stride: int, padding: int, dtype: str = "int8"
) -> Model:
    """Return a model of one pool with a square window."""
    b = GraphBuilder()
    quant = Quantization((0.05,), (0 if dtype == "int16" else 100,))
    x = b.input(shape, dtype, quant)
    sizes = [conv_padding(padding, shape[k], window, stride, 1)[0] for k in (1, 2)]
    y = b.tensor((shape[0], *sizes, shape[3]), dtype, quant)
    b.op(
        name,
        [x],
        [y],
        "Pool2DOptions",
        3,
        padding=padding,
        stride_h=stride,
        stride_w=stride,
        filter_height=window,
        filter_width=window,
    )
    return b.build()


@pytest.mark.parametrize("name", POOLS)
def test_unusual_pools_are_exact(name: str) -> None:
    models = [
        pool(name, (1, 3, 3, 2), 7, 1, padding=0),  # a window larger than the image
        pool(name, (1, 25, 5, 64), 5, 5, padding=1),
        pool(name, (2, 6, 6, 1), 2, 3, padding=1),  # gaps between windows
        pool(name, (1, 96, 96, 1), 96, 1, padding=1),
        pool(name, (1, 40, 40, 1), 40, 1, padding=1, dtype="int16"),
    ]
    assert compare(models, seed=1, runs=8) == []


def row_operator(
    name: str,
    shape: tuple[int, ...],
    scale: float,
    *,
    dtype: str = "int8",
    zero: int = 0,
    out_quant: Quantization | None = None,
    **options: Any,
) -> Model:
    """Return a model of one operator that computes each row (the last axis) separately. ``scale`` and ``zero`` are
    those of its input."""
    b = GraphBuilder()
    x = b.input(shape, dtype, Quantization((float(np.float32(scale)),), (zero,)))
    y = b.tensor(shape, dtype, out_quant or OUTPUT[name, dtype])
    if name == "SOFTMAX":
        options = {"beta": 1.0, **options}
    b.op(name, [x], [y], OPTIONS[name], 3 if dtype == "int16" else 2, **options)
    return b.build()


def test_unusual_softmaxes_are_exact() -> None:
    models = [
        row_operator("SOFTMAX", (3, 1), 0.1),
        row_operator("SOFTMAX", (1, 511), 0.001),  # nearly equal values: the largest sum that LiteRT supports
        row_operator("SOFTMAX", (4, 2), 8.0),
        row_operator("SOFTMAX", (4, 5), 1e-6),
        row_operator("SOFTMAX", (2, 3, 2, 6), 0.05, zero=-128, beta=10.0),
        row_operator("SOFTMAX", (1, 4095), 1e-5, dtype="int16"),
        row_operator("SOFTMAX", (3, 1), 1e-3, dtype="int16"),
        row_operator("SOFTMAX", (3, 7), 1.0, dtype="int16"),
        row_operator("LOG_SOFTMAX", (1, 4095), 0.001),
        row_operator("LOG_SOFTMAX", (3, 1), 0.1),
        row_operator("LOG_SOFTMAX", (4, 12), 3.0, zero=127),
        row_operator("LOG_SOFTMAX", (4, 12), 1e-6),
    ]
    assert compare(models, seed=1, runs=20) == []


@pytest.mark.parametrize("scale", [1e-6, 0.004, 0.02, 0.13, 0.7, 9.0])
def test_a_softmax_of_two_values_is_exact(scale: float) -> None:
    """The table has the outputs for each difference of the inputs."""
    model = row_operator("SOFTMAX", (2048, 2), scale)
    assert softmax_kernel(model) == "ar_softmax_of_two_s8"
    assert compare([model], seed=4, runs=4) == []


def test_a_softmax_whose_outputs_do_not_fit_the_table_is_exact() -> None:
    """Both outputs of some difference are rounded upwards, so their sum is 257/256."""
    model = row_operator("SOFTMAX", (2048, 2), 0.03236196)
    assert softmax_kernel(model) == "ar_softmax_s8"
    assert compare([model], seed=4, runs=4) == []


def softmax_kernel(model: Model) -> str:
    call = lower(model).calls[0].call
    assert call is not None
    return call.kernel


def test_a_softmax_from_int8_to_int16_is_exact() -> None:
    """The output has the zero point -32768. QUANTIZE to int32 is the only operator that reads such a tensor, and models
    for TensorFlow Lite Micro end with it."""
    models = []
    for shape in ((3, 1), (1, 511), (2, 5)):
        b = GraphBuilder()
        x = b.input(shape, "int8", Quantization((0.07,), (2,)))
        y = b.tensor(shape, "int16", Quantization((1 / 65536,), (-32768,)))
        b.op("SOFTMAX", [x], [y], "SoftmaxOptions", 2, beta=1.0)
        z = b.tensor(shape, "int32", Quantization((1 / 65536,), (-32768,)))
        b.op("QUANTIZE", [y], [z], "QuantizeOptions", 2)
        models.append(b.build())
    assert compare(models, seed=1, runs=20) == []


def test_unusual_l2_normalizations_are_exact() -> None:
    models = [
        row_operator("L2_NORMALIZATION", (5, 1), 0.1, zero=-128),
        row_operator("L2_NORMALIZATION", (5, 1), 0.1),
        row_operator("L2_NORMALIZATION", (1, 30000), 0.1, zero=127),  # the largest sum of squares
        row_operator("L2_NORMALIZATION", (2, 3, 4, 5), 0.1, zero=-3),
    ]
    assert compare(models, seed=1, runs=20) == []


def test_unsupported_operators_are_refused() -> None:
    softmax = row_operator("SOFTMAX", (2, 5), 0.1)
    check_supported(softmax)
    assert_refused(changed(softmax, 0, dtype="float32", quant=None), "operator 0 SOFTMAX", "float32")
    assert_refused(changed(softmax, -1, dtype="int16", quant=OUTPUT["SOFTMAX", "int16"]), "1/65536")
    assert_refused(changed(softmax, -1, quant=Quantization((1 / 128,), (-128,))), "1/256")
    assert_refused(changed(softmax, -1, quant=Quantization((1 / 256,), (0,))), "zero point -128")
    assert_refused(row_operator("SOFTMAX", (1, 4096), 0.1), "4095")
    assert_refused(row_operator("SOFTMAX", (1, 4), 1e-9), "too small")
    assert_refused(row_operator("SOFTMAX", (1, 4), 100.0, dtype="int16"), "out of range")
    assert_refused(row_operator("LOG_SOFTMAX", (1, 4), 0.1, out_quant=Quantization((0.1,), (127,))), "1/16")
    assert_refused(row_operator("LOG_SOFTMAX", (1, 5000), 0.1), "4095")
    assert_refused(row_operator("LOG_SOFTMAX", (1, 4), 1e-9), "too small")
    assert_refused(row_operator("LOG_SOFTMAX", (1, 4), 2.0**-26), "too small")
    assert_refused(
        row_operator("L2_NORMALIZATION", (1, 4), 0.1, out_quant=Quantization((0.1,), (0,))), "1/128"
    )
    assert_refused(row_operator("L2_NORMALIZATION", (1, 40000), 0.1), "33025")
    assert_refused(row_operator("L2_NORMALIZATION", (1, 4), 0.1, fused_activation_function=1), "activation")
    average = pool("AVERAGE_POOL_2D", (1, 4, 4, 2), 2, 2, padding=1)
    check_supported(average)
    assert_refused(changed(average, 0, dtype="uint8"), "operator 0 AVERAGE_POOL_2D", "uint8")
    assert_refused(changed(average, 0, quant=None), "quantized")
    assert_refused(changed(average, -1, dtype="int16", quant=Quantization((0.1,), (0,))), "int16")
