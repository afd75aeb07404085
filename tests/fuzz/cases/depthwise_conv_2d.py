"""Random DEPTHWISE_CONV_2D operators."""

from __future__ import annotations

from tests.fuzz.cases import case
from tests.fuzz.cases.conv_2d import (
    bias_for,
    common_layer_input,
    common_layer_window,
    constant_weights,
    int4_scales,
    output_quant,
    relu_quant,
    takes_int4,
    weights_quant,
    window,
)
from tests.fuzz.graph_builder import ACTIVATIONS, GraphBuilder


@case("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(b: GraphBuilder) -> None:
    rng = b.rng
    common = common_layer_input(b)
    x = b.pick(("int8", "int8", "int16"), 4) if common is None else common
    n, h, w, c = b[x].shape
    multiplier = int(rng.integers(2, 5)) if common is None and rng.random() < 0.3 else 1
    out_c = c * multiplier
    shape = window(b, h, w) if common is None else common_layer_window(b, h, w, 3)
    k_h, k_w, out_h, out_w = (shape.pop(name) for name in ("k_h", "k_w", "out_h", "out_w"))
    wq = weights_quant(b, out_c, 3)
    if int4 := takes_int4(b, x):
        wq = int4_scales(wq)
    weights = constant_weights(b, rng.integers(-127, 128, (1, k_h, k_w, out_c)), wq, int4)
    inputs = [x, weights] + ([bias_for(b, x, wq, out_c)] if rng.random() < 0.9 else [])
    dtype = b[x].dtype
    activation = int(rng.choice(ACTIVATIONS))
    quant = output_quant(b, dtype, x, wq, k_h * k_w)
    if common is not None and rng.random() < 0.8:
        quant, activation = relu_quant(b, x, wq, k_h * k_w), 1  # RELU
    y = b.tensor((n, out_h, out_w, out_c), dtype, quant)
    b.op(
        "DEPTHWISE_CONV_2D",
        inputs,
        [y],
        "DepthwiseConv2DOptions",
        version=3,
        depth_multiplier=multiplier,
        fused_activation_function=activation,
        **shape,
    )
