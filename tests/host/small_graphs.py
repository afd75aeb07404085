"""Small models for end-to-end tests, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.graph.model import Model, Quantization
from arenite.converters.tflite.writer import to_flatbuffer
from tests.fuzz.cases.variables import call_once
from tests.fuzz.graph_builder import GraphBuilder, f32

CLASSES = 5


def save(model: Model, path: Path) -> Path:
    """Write the model as a plain .tflite file. Return ``path``."""
    path.write_bytes(to_flatbuffer(model))
    return path


def quant(scale: float, zero_point: int = 0) -> Quantization:
    """Return a quantization of a whole tensor. The scale is rounded to float32."""
    return Quantization((f32(scale),), (zero_point,))


def _conv(b: GraphBuilder, x: int, channels: int, name: str = "CONV_2D") -> int:
    """Add a 3x3 convolution with stride 2, per-channel weights and ReLU. Return the index of its output tensor."""
    n, h, w, c = b[x].shape
    depthwise = name != "CONV_2D"
    scales = tuple(f32(0.004 + 0.001 * k) for k in range(channels))
    shape = (1, 3, 3, c) if depthwise else (channels, 3, 3, c)
    wq = Quantization(scales, (0,) * channels, 3 if depthwise else 0)
    weights = b.const(b.rng.integers(-127, 128, shape), "int8", wq)
    bq = Quantization(tuple(f32(b[x].scale * s) for s in scales), (0,) * channels, 0)
    bias = b.const(b.rng.integers(-2000, 2000, channels), "int32", bq)
    y = b.tensor((n, -(-h // 2), -(-w // 2), channels), "int8", quant(0.05, -128))
    more: dict[str, Any] = {"depth_multiplier": 1} if depthwise else {}
    options = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
    b.op(
        name, [x, weights, bias], [y], options, 3, stride_h=2, stride_w=2, fused_activation_function=1, **more
    )
    return y


def classifier(size: int = 12, channels: int = 6, colors: int = 3) -> Model:
    """Return an int8 model with convolutions, max pool, fully connected and softmax; one input, one output."""
    b = GraphBuilder(np.random.default_rng(1))
    x = b.input((1, size, size, colors), "int8", quant(0.02, 3))
    y = _conv(b, _conv(b, x, channels), channels, "DEPTHWISE_CONV_2D")
    n, h, w, c = b[y].shape
    pooled = b.tensor((n, -(-h // 2), -(-w // 2), c), "int8", b[y].quant)
    b.op(
        "MAX_POOL_2D", [y], [pooled], "Pool2DOptions", 2,
        stride_h=2, stride_w=2, filter_height=2, filter_width=2,
    )  # fmt: skip
    depth = b[pooled].elements
    flat = b.tensor((1, depth), "int8", b[pooled].quant)
    b.op("RESHAPE", [pooled, b.const([1, depth], "int32")], [flat], "ReshapeOptions", new_shape=[1, depth])
    weights = b.const(b.rng.integers(-127, 128, (CLASSES, depth)), "int8", quant(0.01))
    bias = b.const(b.rng.integers(-500, 500, CLASSES), "int32", quant(0.0005))
    scores = b.tensor((1, CLASSES), "int8", quant(0.1, -4))
    b.op("FULLY_CONNECTED", [flat, weights, bias], [scores], "FullyConnectedOptions", 4)
    out = b.tensor((1, CLASSES), "int8", quant(1 / 256, -128))
    b.op("SOFTMAX", [scores], [out], "SoftmaxOptions", 2, beta=1.0)
    return b.build()


def counter(shape: tuple[int, ...] = (1, 4)) -> Model:
    """Return a stateful model: each inference adds its input to a variable of this shape, initialized by CALL_ONCE."""
    b = GraphBuilder(np.random.default_rng(2))
    q = quant(0.1)
    x = b.input(shape, "int8", q)
    call_once(b, "sum", b[x])
    handle = b.tensor((), "resource")
    b.op("VAR_HANDLE", [], [handle], "VarHandleOptions", container="", shared_name="sum")
    old_value, new_value = b.tensor(shape, "int8", q), b.tensor(shape, "int8", q)
    b.op("READ_VARIABLE", [handle], [old_value], "ReadVariableOptions")
    b.op("ADD", [old_value, x], [new_value], "AddOptions", 2)
    b.op("ASSIGN_VARIABLE", [handle, new_value], [], "AssignVariableOptions")
    output = b.tensor(shape, "int8", q)
    b.op("RELU", [new_value], [output])
    return b.build()


def two_inputs() -> Model:
    """Return a model with two int8 inputs of shape (1, 6); its two outputs are their product and difference."""
    b = GraphBuilder(np.random.default_rng(3))
    x0, x1 = b.input((1, 6), "int8", quant(0.05, 4)), b.input((1, 6), "int8", quant(0.02, -9))
    product = b.tensor((1, 6), "int8", quant(0.01, 1))
    b.op("MUL", [x0, x1], [product], "MulOptions", 2)
    x2 = b.tensor((1, 6), "int8", quant(0.1, 0))
    b.op("SUB", [x0, x1], [x2], "SubOptions", 2)
    return b.build()


def float_edges() -> Model:
    """Return a model with float32 input and output and int8 operators between them."""
    b = GraphBuilder(np.random.default_rng(4))
    x = b.input((1, 10), "float32")
    q = b.tensor((1, 10), "int8", quant(0.01, 2))
    b.op("QUANTIZE", [x], [q], "QuantizeOptions")
    r = b.tensor((1, 10), "int8", quant(1 / 256, -128))
    b.op("LOGISTIC", [q], [r])
    y = b.tensor((1, 10), "float32")
    b.op("DEQUANTIZE", [r], [y], "DequantizeOptions")
    return b.build()


def float_network() -> Model:
    """Return a float model, which no device can run."""
    b = GraphBuilder(np.random.default_rng(5))
    x = b.input((1, 4), "float32")
    weights = b.const(b.rng.standard_normal((3, 4)), "float32")
    y = b.tensor((1, 3), "float32")
    b.op("FULLY_CONNECTED", [x, weights], [y], "FullyConnectedOptions")
    return b.build()
