"""Random CONV_2D operators, and functions shared with the cases of other convolutions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from arenite.converters.graph.model import Quantization
from arenite.converters.graph.quantized_arithmetic import conv_padding
from tests.fuzz.cases import case
from tests.fuzz.graph_builder import ACTIVATIONS, INT8_DEVIATION, GraphBuilder, f32


def weights_quant(b: GraphBuilder, channels: int, axis: int) -> Quantization:
    """Return a random quantization for weights, with zero point 0 and mostly with a scale per index of ``axis``."""
    if b.rng.random() < 0.8:
        scales = tuple(f32(s) for s in np.exp(b.rng.uniform(np.log(1e-4), np.log(0.05), channels)))
        return Quantization(scales, (0,) * channels, axis)
    return Quantization((f32(np.exp(b.rng.uniform(np.log(1e-4), np.log(0.05)))),), (0,))


def takes_int4(b: GraphBuilder, x: int) -> bool:
    """Return whether a layer with input ``x`` shall have int4 weights. The decision is drawn from a separate random
    stream, so it changes no other draw."""
    return b[x].dtype == "int8" and float(b.rng.spawn(1)[0].random()) < 0.3


def int4_scales(quant: Quantization) -> Quantization:
    """Return ``quant`` with scales for 4-bit instead of 8-bit weights, which are 16 times as large."""
    return Quantization(tuple(f32(16 * s) for s in quant.scale), quant.zero_point, quant.axis)


def constant_weights(b: GraphBuilder, values: np.ndarray, quant: Quantization, int4: bool) -> int:
    """Add constant int8 weights and return their tensor. With ``int4``, the weights are the upper four bits of
    ``values``, and the tensor is stored as int4."""
    index = b.const(values >> 4 if int4 else values, "int8", quant)
    if int4:
        b.tensors[index] = replace(b[index], stored="int4")
    return index


def bias_for(b: GraphBuilder, x: int, w: Quantization, channels: int) -> int:
    """Add a random bias as converters write it, and return its tensor.

    Its scale is that of the input times that of the weights ``w``. Its type is int32, or int64 for int16 activations.
    """
    scales = tuple(f32(b[x].scale * s) for s in w.scale)
    wide = b[x].dtype == "int16"
    limit = 2**22 if wide else 2**14
    values = b.rng.integers(-limit, limit, channels)
    return b.const(values, "int64" if wide else "int32", Quantization(scales, (0,) * len(scales), 0))


def output_quant(b: GraphBuilder, dtype: str, x: int, w: Quantization, depth: int) -> Quantization:
    """Return an output quantization whose scale spreads most sums of ``depth`` products over the output's range. The
    zero point is random."""
    # With this scale, the stored int8 outputs have a standard deviation of about 40. For int16, input scales are 256
    # times smaller and stored values 256 times larger, so the same formula holds.
    spread = b[x].scale * float(np.median(w.scale)) * INT8_DEVIATION * INT8_DEVIATION * np.sqrt(depth) / 40
    return b.quant(dtype, scale=spread * float(np.exp(b.rng.uniform(-1.5, 1.5))))


def window(b: GraphBuilder, h: int, w: int, dilation: bool = True) -> dict[str, Any]:
    """Return kernel size, strides, dilation and padding that give at least one output for an h x w image, and the size
    of the output. Padding 0 is SAME, 1 is VALID."""
    rng = b.rng
    k_h, k_w = (int(rng.integers(1, min(5, d) + 1)) for d in (h, w))
    dil_h, dil_w = (int(rng.integers(1, 4)) if dilation and rng.random() < 0.25 else 1 for _ in range(2))
    padding = int(rng.integers(0, 2))
    if padding == 1 and ((k_h - 1) * dil_h >= h or (k_w - 1) * dil_w >= w):
        padding = 0
    stride_h, stride_w = (int(rng.integers(1, 4)) for _ in range(2))
    return {
        "k_h": k_h,
        "k_w": k_w,
        "stride_h": stride_h,
        "stride_w": stride_w,
        "dilation_h_factor": dil_h,
        "dilation_w_factor": dil_w,
        "padding": padding,
        "out_h": conv_padding(padding, h, k_h, stride_h, dil_h)[0],
        "out_w": conv_padding(padding, w, k_w, stride_w, dil_w)[0],
    }


def common_layer_input(b: GraphBuilder) -> int | None:
    """Return None, or, for half of the graphs without an input, add and return an int8 input as in trained networks.

    It has 4 to 20 channels and mostly the zero point of a ReLU. Complete blocks of channels and pixels, for which
    vector kernels are written, are rare among random shapes.
    """
    rng = b.rng
    if b.inputs or rng.random() >= 0.5:
        return None
    channels = int(rng.choice([4, 8, 12, 16, 20, int(rng.integers(4, 20))]))
    shape = (1, *(int(rng.integers(1, 16)) for _ in range(2)), channels)
    return b.input(shape, "int8", b.quant("int8", zero_point=-128 if rng.random() < 0.7 else None))


def common_layer_window(b: GraphBuilder, h: int, w: int, size: int) -> dict[str, Any]:
    """Return a window as in trained networks: ``size`` x ``size``, stride 1 or 2, mostly padded (SAME), without
    dilation. The keys are those of ``window``."""
    padding = int(min(h, w) >= size and b.rng.random() < 0.3)
    stride = int(b.rng.choice([1, 1, 2]))
    return {
        "k_h": size,
        "k_w": size,
        "stride_h": stride,
        "stride_w": stride,
        "dilation_h_factor": 1,
        "dilation_w_factor": 1,
        "padding": padding,
        "out_h": conv_padding(padding, h, size, stride, 1)[0],
        "out_w": conv_padding(padding, w, size, stride, 1)[0],
    }


def relu_quant(b: GraphBuilder, x: int, w: Quantization, depth: int) -> Quantization:
    """Return the output quantization of a layer with ReLU, whose zero point is -128, the lowest value."""
    return Quantization(output_quant(b, "int8", x, w, depth).scale, (-128,))


@case("CONV_2D")
def conv_2d(b: GraphBuilder) -> None:
    rng = b.rng
    common = common_layer_input(b)
    x = b.pick(("int8", "int8", "int16"), 4) if common is None else common
    n, h, w, c = b[x].shape
    groups = int(rng.choice([g for g in range(1, c + 1) if c % g == 0])) if rng.random() < 0.15 else 1
    out_c = groups * int(rng.integers(1, max(2, 12 // groups)))
    if common is None:
        shape = window(b, h, w)
    else:
        groups, out_c = 1, int(rng.choice([4, 8, 16, int(rng.integers(4, 20))]))
        shape = common_layer_window(b, h, w, int(rng.choice([1, 1, 3])))
    k_h, k_w, out_h, out_w = (shape.pop(name) for name in ("k_h", "k_w", "out_h", "out_w"))
    wq = weights_quant(b, out_c, 0)
    if int4 := takes_int4(b, x):
        wq = int4_scales(wq)
    weights = constant_weights(b, rng.integers(-127, 128, (out_c, k_h, k_w, c // groups)), wq, int4)
    bias = bias_for(b, x, wq, out_c)
    dtype, depth = b[x].dtype, k_h * k_w * c // groups
    activation = int(rng.choice(ACTIVATIONS))
    quant = output_quant(b, dtype, x, wq, depth)
    if common is not None and rng.random() < 0.8:
        quant, activation = relu_quant(b, x, wq, depth), 1  # RELU
    y = b.tensor((n, out_h, out_w, out_c), dtype, quant)
    b.op(
        "CONV_2D",
        [x, weights, bias],
        [y],
        "Conv2DOptions",
        version=3,
        fused_activation_function=activation,
        **shape,
    )
