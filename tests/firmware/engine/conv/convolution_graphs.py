"""Build models of one convolution, and change models of one operator so that Arenite must refuse them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.converters.graph.quantized_arithmetic import conv_padding
from arenite.errors import UnsupportedModelError
from arenite.firmware.generator.lower import LOWERINGS
from tests.fuzz.graph_builder import GraphBuilder

# The numbers of Padding and ActivationFunctionType in the TFLite schema.
SAME, VALID = 0, 1

RELU, RELU_N1_TO_1, RELU6 = 1, 2, 3

_IN, _OUT = Quantization((0.05,), (-7,)), Quantization((0.3,), (11,))


def scales(count: int, low: float = 0.001, high: float = 0.02) -> tuple[float, ...]:
    """Return ``count`` evenly spaced scales from ``low`` to ``high``, rounded to float32."""
    return tuple(float(np.float32(s)) for s in np.linspace(low, high, count))


def conv(
    name: str,
    shape: tuple[int, int, int, int],
    weights_shape: tuple[int, int, int, int],
    *,
    dtype: str = "int8",
    padding: int = SAME,
    stride: int = 1,
    dilation: int = 1,
    activation: int = 0,
    in_quant: Quantization = _IN,
    out_quant: Quantization = _OUT,
    bias: bool = True,
    **options: Any,
) -> Model:
    """Return a model with one CONV_2D or DEPTHWISE_CONV_2D.

    ``shape`` is the shape of the input. ``weights_shape`` is the shape of the weights, whose random values cover the
    complete int8 range. With the dtype int16, ``in_quant`` and ``out_quant`` are not used. ``options`` has further
    options of the operator."""
    b = GraphBuilder(np.random.default_rng(3))
    if dtype == "int16":
        in_quant, out_quant = Quantization((0.0005,), (0,)), Quantization((0.002,), (0,))
    axis = 0 if name == "CONV_2D" else 3
    out_c = weights_shape[axis]
    x = b.input(shape, dtype, in_quant)
    quant = Quantization(scales(out_c), (0,) * out_c, axis)
    inputs = [x, b.const(b.rng.integers(-128, 128, weights_shape), "int8", quant)]
    if bias:
        bias_dtype = "int64" if dtype == "int16" else "int32"
        inputs.append(b.const(b.rng.integers(-9000, 9000, out_c), bias_dtype, replace(quant, axis=0)))
    sizes = [conv_padding(padding, shape[k], weights_shape[k], stride, dilation)[0] for k in (1, 2)]
    y = b.tensor((shape[0], *sizes, out_c), dtype, out_quant)
    b.op(
        name,
        inputs,
        [y],
        "Conv2DOptions" if axis == 0 else "DepthwiseConv2DOptions",
        version=5,
        padding=padding,
        stride_h=stride,
        stride_w=stride,
        dilation_h_factor=dilation,
        dilation_w_factor=dilation,
        fused_activation_function=activation,
        **options,
    )
    return b.build()


def changed(model: Model, position: int, **fields: object) -> Model:
    """Return the model with other values for ``fields`` of one tensor: the operator's input at ``position``, or its
    output if ``position`` is -1."""
    graph = model.main
    op = graph.ops[0]
    index = op.outputs[0] if position < 0 else op.inputs[position]
    tensors = list(graph.tensors)
    tensors[index] = replace(tensors[index], **fields)  # type: ignore[arg-type]
    return replace(model, subgraphs=(replace(graph, tensors=tuple(tensors)),))


def with_options(model: Model, **options: object) -> Model:
    """Return the model with other values for ``options`` of its operator."""
    op = model.main.ops[0]
    main = replace(model.main, ops=(replace(op, options={**op.options, **options}),))
    return replace(model, subgraphs=(main,))


def assert_refused(model: Model, *texts: str) -> None:
    """Check that the first operator of ``model`` is refused with an error that contains ``texts`` and has a hint."""
    op = model.main.ops[0]
    with pytest.raises(UnsupportedModelError) as caught:
        LOWERINGS[op.name].check(model.main, op)
    assert all(word in str(caught.value) for word in texts), str(caught.value)
    assert caught.value.hint
