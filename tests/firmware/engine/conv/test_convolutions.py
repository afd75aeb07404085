"""Generated convolutions compute the same bytes as LiteRT, and unsupported convolutions are refused with an error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization, Tensor
from arenite.firmware.generator.operator_needs import check_supported
from tests.firmware.engine.conv.convolution_graphs import (
    RELU,
    RELU6,
    RELU_N1_TO_1,
    SAME,
    VALID,
    assert_refused,
    changed,
    conv,
    scales,
    with_options,
)
from tests.fuzz.comparison import compare
from tests.fuzz.fixed_graphs import assert_bit_exact
from tests.fuzz.graph_builder import GraphBuilder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV"])
def test_random_graphs_are_exact(name: str) -> None:
    assert_bit_exact(name, graphs=30)


@pytest.mark.slow
def test_random_chains_are_exact() -> None:
    assert_bit_exact("CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", graphs=6, length=6)


def test_unusual_convolutions_are_exact() -> None:
    models = [
        conv("CONV_2D", (1, 5, 7, 4), (6, 1, 1, 4), stride=2),
        conv("CONV_2D", (1, 2, 3, 2), (3, 5, 7, 2)),  # a kernel larger than the image
        conv("CONV_2D", (3, 6, 6, 2), (4, 3, 3, 2), padding=VALID, dilation=2, activation=RELU6),
        conv("CONV_2D", (1, 4, 4, 6), (9, 3, 3, 2)),  # three groups
        conv("CONV_2D", (1, 1, 9, 1), (1, 1, 9, 1), padding=VALID, activation=RELU_N1_TO_1),
        conv("CONV_2D", (1, 4, 4, 3), (2, 3, 3, 3), in_quant=Quantization((0.05,), (-128,))),
        conv("CONV_2D", (1, 4, 4, 3), (2, 3, 3, 3), in_quant=Quantization((0.05,), (127,))),
        # A multiplier above 1 (left shift), and one that rounds everything to the zero point.
        conv("CONV_2D", (1, 3, 3, 2), (2, 3, 3, 2), out_quant=Quantization((1e-4,), (0,))),
        conv("CONV_2D", (1, 3, 3, 2), (2, 3, 3, 2), out_quant=Quantization((1e9,), (5,))),
        conv("CONV_2D", (2, 5, 5, 4), (6, 3, 3, 2), dtype="int16", activation=RELU),
        conv("DEPTHWISE_CONV_2D", (1, 6, 6, 1), (1, 3, 3, 8)),  # one input channel
        conv("DEPTHWISE_CONV_2D", (2, 5, 6, 3), (1, 4, 2, 6), stride=3, activation=RELU),
        conv("DEPTHWISE_CONV_2D", (1, 9, 9, 2), (1, 3, 3, 2), dilation=4),
        conv("DEPTHWISE_CONV_2D", (1, 5, 5, 2), (1, 3, 3, 4), dtype="int16", bias=False),
    ]
    assert compare(models, seed=1, runs=6) == []


def transposed(
    shape: tuple[int, int, int, int], out: tuple[int, int, int, int], kernel: int, stride: int, padding: int
) -> Model:
    """Return a model with one int8 TRANSPOSE_CONV. ``shape`` is the shape of the input, ``out`` is the shape of the
    output, and ``kernel`` is the height and width of the kernel."""
    b = GraphBuilder(np.random.default_rng(5))
    x = b.input(shape, "int8", Quantization((0.05,), (9,)))
    quant = Quantization(scales(out[3]), (0,) * out[3], 0)
    weights = b.const(b.rng.integers(-127, 128, (out[3], kernel, kernel, shape[3])), "int8", quant)
    bias = b.const(b.rng.integers(-9000, 9000, out[3]), "int32", quant)
    y = b.tensor(out, "int8", Quantization((0.2,), (-3,)))
    options: dict[str, Any] = {"padding": padding, "stride_h": stride, "stride_w": stride}
    b.op(
        "TRANSPOSE_CONV", [b.const(out, "int32"), weights, x, bias], [y], "TransposeConvOptions", 3, **options
    )
    return b.build()


def test_unusual_transposed_convolutions_are_exact() -> None:
    models = [
        # Some output pixels depend on no input.
        transposed((1, 3, 3, 2), (1, 9, 9, 2), kernel=1, stride=3, padding=SAME),
        transposed((2, 3, 2, 3), (2, 7, 5, 1), kernel=3, stride=2, padding=VALID),
        transposed((1, 4, 4, 1), (1, 4, 4, 5), kernel=5, stride=1, padding=SAME),
        # The output has one more row and column than needed.
        transposed((1, 2, 2, 2), (1, 6, 6, 2), kernel=3, stride=2, padding=VALID),
    ]
    assert compare(models, seed=1, runs=6) == []


def without_input(model: Model, position: int) -> Model:
    """Return the model without the operator's optional input at ``position``."""
    op = model.main.ops[0]
    inputs = tuple(-1 if k == position else i for k, i in enumerate(op.inputs))
    return replace(model, subgraphs=(replace(model.main, ops=(replace(op, inputs=inputs),)),))


@pytest.mark.parametrize("name", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_unsupported_tensors_and_options_are_refused(name: str) -> None:
    weights_shape = (4, 3, 3, 4) if name == "CONV_2D" else (1, 3, 3, 4)
    model = conv(name, (1, 5, 5, 4), weights_shape)
    check_supported(model)
    weights: Tensor = model.main.tensors[model.main.ops[0].inputs[1]]
    int16_model = conv(name, (1, 5, 5, 4), weights_shape, dtype="int16")
    check_supported(int16_model)
    per_tensor = Quantization((0.01,), (4,))
    wrong_axis = Quantization(scales(4), (0,) * 4, 3 if name == "CONV_2D" else 0)
    assert_refused(changed(model, 0, dtype="float32"), f"operator 0 {name}", "tensor 0", "float32")
    assert_refused(changed(model, 0, dtype="uint8"), "uint8")
    assert_refused(changed(model, 0, quant=None), "quantized")
    assert_refused(changed(model, -1, dtype="int16", quant=Quantization((0.1,), (0,))), "int16")
    assert_refused(changed(model, 1, data=None), "constant")
    assert_refused(changed(model, 1, dtype="float32"), "float32")
    assert_refused(changed(model, 1, quant=per_tensor), "zero point 0")
    assert_refused(changed(model, 1, quant=wrong_axis), "axis")
    assert_refused(changed(model, 2, data=None), "bias must be constant")
    assert_refused(changed(model, 2, dtype="int64"), "int64")
    assert_refused(changed(model, 2, data=np.full(4, 2**31 - 1, np.int32)), "overflow")
    assert_refused(with_options(model, stride_w=300), "stride")
    assert_refused(with_options(model, dilation_h_factor=0), "dilation")
    assert_refused(changed(int16_model, 0, quant=Quantization((0.1,), (3,))), "zero point")
    assert_refused(changed(int16_model, 2, dtype="int32"), "int32")
    assert_refused(changed(int16_model, 2, data=np.full(4, 2**50, np.int64)), "48-bit")
    assert_refused(changed(int16_model, -1, quant=Quantization((1e-12,), (0,))), "scale")
    assert weights.data is not None
    assert_refused(
        changed(model, 1, data=np.broadcast_to(weights.data, weights.shape), dtype="int16"), "int16"
    )


def test_convolution_without_bias_is_refused() -> None:
    model = conv("CONV_2D", (1, 5, 5, 4), (4, 3, 3, 4))
    assert_refused(without_input(model, 2), "no bias", "int32")


def test_32_bit_accumulator_for_int16_is_refused() -> None:
    model = conv("CONV_2D", (1, 5, 5, 4), (4, 3, 3, 4), dtype="int16", quantized_bias_type=2)
    assert_refused(model, "32-bit accumulator")


def test_computed_output_shape_is_refused() -> None:
    model = transposed((1, 3, 3, 2), (1, 9, 9, 2), kernel=1, stride=3, padding=SAME)
    check_supported(model)
    assert_refused(changed(model, 0, data=None), "TRANSPOSE_CONV", "output shape")
