"""Random networks whose first layers run row by row, as those of applications with a camera."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.converters.graph.model import Model, Quantization
from benchmarks.app_instructions.random_layers import wq
from tests.fuzz.graph_builder import GraphBuilder, f32
from tests.host.small_graphs import quant

_CHANNELS = (4, 6, 8, 12, 16, 20, 24, 32)


def _layer(
    b: GraphBuilder,
    rng: np.random.Generator,
    x: int,
    channels: int,
    side: tuple[int, int],
    stride: int,
    depthwise: bool,
) -> int:
    """Add a convolution and return its output."""
    _, h, w, c = b[x].shape
    scales = wq(rng, channels, 3 if depthwise else 0)
    shape = (1, *side, c) if depthwise else (channels, *side, c)
    weights = b.const(rng.integers(-127, 128, shape), "int8", scales)
    bias_scales = tuple(f32(b[x].scale * k) for k in scales.scale)
    bias = b.const(
        rng.integers(-2000, 2000, channels), "int32", Quantization(bias_scales, (0,) * channels, 0)
    )
    act = int(rng.choice([0, 1, 1, 3]))
    more: dict[str, Any] = {"depth_multiplier": 1} if depthwise else {}
    y = b.tensor(
        (1, -(-h // stride), -(-w // stride), channels),
        "int8",
        quant(b[x].scale * (2.5 if act else 5), -128 if act else int(rng.integers(-20, 20))),
    )
    b.op(
        "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
        [x, weights, bias],
        [y],
        "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions",
        3,
        stride_h=stride,
        stride_w=stride,
        padding=0,
        fused_activation_function=act,
        **more,
    )
    return y


def random_network(seed: int) -> Model:
    """Return a network that takes a picture: a convolution, then depthwise and pointwise ones, a pool, and scores."""
    rng = np.random.default_rng(seed)
    b = GraphBuilder(rng)
    size = int(rng.choice([32, 40, 48, 64, 72, 96])), int(rng.choice([32, 40, 48, 60, 64, 80, 96]))
    y = b.input((1, *size, int(rng.choice([1, 3]))), "int8", quant(0.02, int(rng.choice([-128, 3, 0]))))
    first = [(3, 3), (3, 3), (5, 5), (1, 1)][rng.integers(4)]
    if first == (3, 3) and b[y].shape[3] == 1 and rng.random() < 0.4:
        y = _depthwise_of_one(b, rng, y)
    else:
        y = _layer(b, rng, y, int(rng.choice(_CHANNELS)), first, int(rng.integers(1, 3)), False)
    for _ in range(int(rng.integers(1, 4))):
        side = (3, 3) if rng.random() < 0.75 else [(5, 5), (3, 1), (1, 3)][rng.integers(3)]
        y = _layer(b, rng, y, b[y].shape[3], side, int(rng.integers(1, 3)), True)
        if rng.random() < 0.85:
            side = (1, 1) if rng.random() < 0.8 else (3, 3)
            y = _layer(b, rng, y, int(rng.choice(_CHANNELS)), side, 1, False)
        if rng.random() < 0.2:
            y = _pool(b, y)
    _, h, w, c = b[y].shape
    flat = b.tensor((1, h * w * c), "int8", b[y].quant)
    b.op("RESHAPE", [y, b.const([1, h * w * c], "int32")], [flat], "ReshapeOptions", new_shape=[1, h * w * c])
    weights = b.const(rng.integers(-127, 128, (2, h * w * c)), "int8", quant(0.005))
    bias = b.const([0, 0], "int32", quant(f32(b[y].scale) * f32(0.005)))
    out = b.tensor((1, 2), "int8", quant(0.3, 0))
    b.op("FULLY_CONNECTED", [flat, weights, bias], [out], "FullyConnectedOptions", 4)
    return b.build()


def _depthwise_of_one(b: GraphBuilder, rng: np.random.Generator, x: int) -> int:
    """Add a depthwise convolution that makes several channels of one, and return its output."""
    _, h, w, _ = b[x].shape
    channels = 8
    scales = wq(rng, channels, 3)
    weights = b.const(rng.integers(-127, 128, (1, 3, 3, channels)), "int8", scales)
    bias_scales = tuple(f32(b[x].scale * k) for k in scales.scale)
    bias = b.const([0] * channels, "int32", Quantization(bias_scales, (0,) * channels, 0))
    y = b.tensor((1, -(-h // 2), -(-w // 2), channels), "int8", quant(2.5 * b[x].scale, -128))
    b.op(
        "DEPTHWISE_CONV_2D", [x, weights, bias], [y], "DepthwiseConv2DOptions", 3,
        stride_h=2, stride_w=2, padding=0, fused_activation_function=1, depth_multiplier=channels,
    )  # fmt: skip
    return y


def _pool(b: GraphBuilder, x: int) -> int:
    """Add a max pool of 2x2 pixels, and return its output."""
    _, h, w, c = b[x].shape
    y = b.tensor((1, -(-h // 2), -(-w // 2), c), "int8", b[x].quant)
    b.op(
        "MAX_POOL_2D", [x], [y], "Pool2DOptions", 2,
        stride_h=2, stride_w=2, filter_height=2, filter_width=2, padding=0,
    )  # fmt: skip
    return y
