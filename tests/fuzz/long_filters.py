"""Random chains of convolutions over images of one column or one row, as in networks for sound, with filters of up to
20 taps."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.graph.quantized_arithmetic import conv_padding
from tests.fuzz.cases.conv_2d import bias_for, output_quant, relu_quant, weights_quant
from tests.fuzz.graph_builder import GraphBuilder

_MOST_LAYERS, _MOST_TAPS = 3, 20
_RELU = 1


def long_filter_model(seed: int, case: int) -> Model:
    """Return the random graph number ``case`` of ``seed``. Equal arguments give equal graphs."""
    rng = np.random.default_rng([seed, case])
    b = GraphBuilder(rng)
    along = 1 if rng.random() < 0.7 else 2  # the axis of the pixels: 1 for a column
    shape = [1 if rng.random() < 0.8 else 2, 1, 1, int(rng.choice([1, 4, 8, 24, int(rng.integers(1, 40))]))]
    shape[along] = int(rng.integers(2, 60))
    x = b.input(tuple(shape), "int8", b.quant("int8", zero_point=-128 if rng.random() < 0.5 else None))
    for _ in range(int(rng.integers(1, _MOST_LAYERS + 1))):
        x = _add_layer(b, x, along)
    return b.build()


def _add_layer(b: GraphBuilder, x: int, along: int) -> int:
    """Add a CONV_2D or DEPTHWISE_CONV_2D whose taps are along an axis of its input ``x``; return its output."""
    rng = b.rng
    n, *size, channels = b[x].shape
    pixels = size[along - 1]
    depthwise = rng.random() < 0.5
    most = min(_MOST_TAPS, pixels)
    taps = min(int(rng.choice([1, 3, 9, int(rng.integers(1, most + 1))])), most)
    stride, dilation = int(rng.choice([1, 1, 2, 3])), int(rng.choice([1, 1, 1, 2]))
    padding = int(rng.integers(0, 2)) if (taps - 1) * dilation < pixels else 0
    kernel, strides, dilations = [1, 1], [1, int(rng.integers(1, 3))], [1, 1]
    if along == 2:
        strides.reverse()
    kernel[along - 1], strides[along - 1], dilations[along - 1] = taps, stride, dilation
    out_c = channels if depthwise else int(rng.integers(1, 40))
    weights_shape = (1, *kernel, channels) if depthwise else (out_c, *kernel, channels)
    quant = weights_quant(b, out_c, 3 if depthwise else 0)
    weights = b.const(rng.integers(-127, 128, weights_shape), "int8", quant)
    out_size = [
        conv_padding(padding, d, k, s, r)[0]
        for d, k, s, r in zip(size, kernel, strides, dilations, strict=True)
    ]
    relu = rng.random() < 0.5
    depth = taps if depthwise else taps * channels
    out_quant = relu_quant(b, x, quant, depth) if relu else output_quant(b, "int8", x, quant, depth)
    y = b.tensor((n, *out_size, out_c), "int8", out_quant)
    options: dict[str, Any] = {
        "stride_h": strides[0],
        "stride_w": strides[1],
        "dilation_h_factor": dilations[0],
        "dilation_w_factor": dilations[1],
        "padding": padding,
        "fused_activation_function": _RELU if relu else 0,
    }
    if depthwise:
        options["depth_multiplier"] = 1
    name = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    options_type = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
    b.op(name, [x, weights, bias_for(b, x, quant, out_c)], [y], options_type, version=3, **options)
    return y
