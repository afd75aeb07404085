"""Random DEPTHWISE_CONV_2D."""

from __future__ import annotations

from tests.fuzz.builder import GraphBuilder
from tests.fuzz.cases import case
from tests.fuzz.cases.conv_2d import bias_for, output_quant, weights_quant, window


@case("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(b: GraphBuilder) -> None:
    rng = b.rng
    x = b.pick(("int8", "int8", "int16"), 4)
    n, h, w, c = b[x].shape
    multiplier = int(rng.integers(2, 5)) if rng.random() < 0.3 else 1
    out_c = c * multiplier
    shape = window(b, h, w)
    k_h, k_w, out_h, out_w = (shape.pop(name) for name in ("k_h", "k_w", "out_h", "out_w"))
    wq = weights_quant(b, out_c, 3)
    weights = b.const(rng.integers(-127, 128, (1, k_h, k_w, out_c)), "int8", wq)
    inputs = [x, weights] + ([bias_for(b, x, wq, out_c)] if rng.random() < 0.9 else [])
    dtype = b[x].dtype
    y = b.tensor((n, out_h, out_w, out_c), dtype, output_quant(b, dtype, x, wq, k_h * k_w))
    activation = int(rng.choice([0, 0, 1, 2, 3]))
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
