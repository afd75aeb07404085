"""Random TRANSPOSE_CONV operators."""

from __future__ import annotations

from tests.fuzz.cases import case
from tests.fuzz.cases.conv_2d import bias_for, output_quant, weights_quant
from tests.fuzz.graph_builder import ACTIVATIONS, GraphBuilder


@case("TRANSPOSE_CONV")
def transpose_conv(b: GraphBuilder) -> None:
    rng = b.rng
    x = b.pick(("int8", "int8", "int16"), 4)
    n, h, w, c = b[x].shape
    out_c = int(rng.integers(1, 7))
    k_h, k_w, stride_h, stride_w = (int(rng.integers(1, 5)) for _ in range(4))
    pad_same = rng.random() < 0.5
    if pad_same:  # the output has a random size that a SAME convolution would turn into h x w
        out_h, out_w = h * stride_h - int(rng.integers(stride_h)), w * stride_w - int(rng.integers(stride_w))
    else:
        out_h = (h - 1) * stride_h + k_h + int(rng.integers(stride_h))
        out_w = (w - 1) * stride_w + k_w + int(rng.integers(stride_w))
    if n * out_h * out_w * out_c > b.max_elements:
        out_h, out_w, stride_h, stride_w, pad_same = h, w, 1, 1, True
    wq = weights_quant(b, out_c, 0)
    weights = b.const(rng.integers(-127, 128, (out_c, k_h, k_w, c)), "int8", wq)
    shape = b.const([n, out_h, out_w, out_c], "int32")
    inputs = [shape, weights, x] + ([bias_for(b, x, wq, out_c)] if rng.random() < 0.7 else [])
    # The mean number of products that are added for one output element.
    depth = max(1, k_h * k_w * c // (stride_h * stride_w))
    y = b.tensor((n, out_h, out_w, out_c), b[x].dtype, output_quant(b, b[x].dtype, x, wq, depth))
    b.op(
        "TRANSPOSE_CONV",
        inputs,
        [y],
        "TransposeConvOptions",
        version=3,
        padding=0 if pad_same else 1,
        stride_h=stride_h,
        stride_w=stride_w,
        fused_activation_function=int(rng.choice(ACTIVATIONS)),
    )
