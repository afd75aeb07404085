"""Layers with given weights, for hand-written graphs. Their scales avoid rounding, so only the clamp loses values."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.converters.graph.model import Model, Quantization
from arenite.converters.graph.quantized_arithmetic import SAME, conv_padding
from tests.fuzz.graph_builder import GraphBuilder, f32

#: The scale of inputs and outputs. Weights have scale 1, so one accumulator step is one output step.
STEP = 1 / 16


def quant(zero: int = -128, scale: float = STEP) -> Quantization:
    """Return a per-tensor quantization."""
    return Quantization((f32(scale),), (zero,))


def conv(
    b: GraphBuilder,
    x: int,
    weights: Any,
    bias: Any,
    *,
    zero: int = -128,
    padding: int = SAME,
    activation: int = 1,
    per_channel: bool = False,
    name: str = "CONV_2D",
    stride: int = 1,
) -> int:
    """Add CONV_2D with weights [out, k_h, k_w, in] or DEPTHWISE_CONV_2D with weights [1, k_h, k_w, out], of scale 1.

    Return the output tensor, whose zero point is ``zero``. ``activation`` 1 is RELU.
    """
    weights = np.asarray(weights, np.int8)
    axis = 3 if name == "DEPTHWISE_CONV_2D" else 0
    units = weights.shape[axis]
    count = units if per_channel else 1
    w = b.const(weights, "int8", Quantization((1.0,) * count, (0,) * count, axis if count > 1 else 0))
    c = b.const(bias, "int32", Quantization((f32(b[x].scale),) * count, (0,) * count))
    sizes = [
        conv_padding(padding, n, k, stride, 1)[0]
        for n, k in zip(b[x].shape[1:3], weights.shape[1:3], strict=True)
    ]
    y = b.tensor((b[x].shape[0], *sizes, units), "int8", quant(zero))
    options: dict[str, Any] = {
        "padding": padding,
        "stride_h": stride,
        "stride_w": stride,
        "dilation_h_factor": 1,
        "dilation_w_factor": 1,
        "fused_activation_function": activation,
    }
    if axis == 3:
        options["depth_multiplier"] = units // b[x].shape[3]
    options_type = "DepthwiseConv2DOptions" if axis == 3 else "Conv2DOptions"
    b.op(name, [x, w, c], [y], options_type, version=3, **options)
    return y


def dense(b: GraphBuilder, x: int, weights: Any, bias: Any | None) -> int:
    """Add FULLY_CONNECTED with weights [units, depth] of scale 1, and return its output tensor."""
    weights = np.asarray(weights, np.int8)
    w = b.const(weights, "int8", quant(0, 1.0))
    c = -1 if bias is None else b.const(bias, "int32", quant(0, b[x].scale))
    y = b.tensor((b[x].elements // weights.shape[1], len(weights)), "int8", quant(0))
    b.op("FULLY_CONNECTED", [x, w, c], [y], "FullyConnectedOptions", version=4)
    return y


def add(b: GraphBuilder, x: int, y: int) -> int:
    """Add an ADD of two tensors of the same shape, with twice their scale, and return its output tensor."""
    z = b.tensor(b[x].shape, "int8", quant(0, 2 * STEP))
    b.op("ADD", [x, y], [z], "AddOptions", version=2)
    return z


def shapes(model: Model, name: str) -> list[tuple[int, ...]]:
    """Return the output shape of every operator called ``name``."""
    graph = model.main
    return [graph.tensors[op.outputs[0]].shape for op in graph.ops if op.name == name]
