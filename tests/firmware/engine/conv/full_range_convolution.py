"""Convolutions whose outputs cover the range of int8, for tests of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.converters.graph.model import Model, Quantization
from arenite.converters.graph.quantized_arithmetic import conv_padding
from tests.fuzz.graph_builder import GraphBuilder, f32

SAME, VALID = 0, 1
RELU = Quantization((0.05,), (-128,))
LINEAR = Quantization((0.05,), (9,))


def conv(
    shape: tuple[int, int, int, int],
    weights: tuple[int, int, int, int],
    *,
    padding: int = SAME,
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    out: Quantization = RELU,
    activation: int = 0,
    depthwise: bool = False,
) -> Model:
    """Return one convolution whose outputs cover the range of int8."""
    b = GraphBuilder(np.random.default_rng([*shape, *weights]))
    axis = 3 if depthwise else 0
    out_c = weights[axis]
    depth = weights[1] * weights[2] * (1 if depthwise else weights[3])
    x = b.input(shape, "int8", Quantization((0.05,), (-3,)))
    # The output scale is also 0.05. With this weight scale, the outputs have a standard deviation of about
    # 60: a sum of `depth` products has one of 74 * 74 * sqrt(depth), and 74 is that of random int8 values.
    spread = 60 / (74 * 74 * np.sqrt(depth))
    quant = Quantization(tuple(f32(spread * s) for s in np.linspace(0.4, 1.6, out_c)), (0,) * out_c, axis)
    w = b.const(b.rng.integers(-127, 128, weights), "int8", quant)
    bias_quant = Quantization(tuple(f32(0.05 * s) for s in quant.scale), (0,) * out_c, 0)
    bias = b.const(b.rng.integers(-9000, 9000, out_c), "int32", bias_quant)
    sizes = [conv_padding(padding, shape[k], weights[k], stride[k - 1], dilation[k - 1])[0] for k in (1, 2)]
    y = b.tensor((shape[0], *sizes, out_c), "int8", out)
    multiplier: dict[str, Any] = {"depth_multiplier": out_c} if depthwise else {}
    b.op(
        "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
        [x, w, bias],
        [y],
        "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions",
        version=3,
        padding=padding,
        stride_h=stride[0],
        stride_w=stride[1],
        dilation_h_factor=dilation[0],
        dilation_w_factor=dilation[1],
        fused_activation_function=activation,
        **multiplier,
    )
    return b.build()
