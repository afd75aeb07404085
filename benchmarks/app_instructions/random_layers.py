"""Random layers of the kinds that applications have, each with its own input, in one model."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Model, Quantization
from tests.fuzz.graph_builder import GraphBuilder, f32
from tests.host.small_graphs import quant

CH = [1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64]


def wq(rng, n, axis):
    return Quantization(tuple(f32(s) for s in rng.uniform(0.002, 0.01, n)), (0,) * n, axis)


def conv(b, rng, depthwise=False, simple=None):
    kh, kw = [
        (1, 1),
        (3, 3),
        (3, 1),
        (1, 3),
        (5, 1),
        (1, 5),
        (10, 4),
        (10, 8),
        (5, 5),
        (7, 1),
        (1, 9),
        (2, 2),
        (4, 1),
        (9, 1),
    ][rng.integers(14)]
    if simple == "1x1":
        kh = kw = 1
    if simple == "3x3":
        kh = kw = 3
    if simple == "tall":
        kh, kw = int(rng.integers(4, 11)), int(rng.integers(3, 9))
    c = int(rng.choice(CH))
    oc = c if depthwise else int(rng.choice(CH[3:]))
    if not depthwise and kh * kw * c * oc > 30000:
        c = min(c, 8)
        oc = min(oc, 16)
    if simple == "tall":
        c = int(rng.integers(1, 4))
        oc = int(rng.choice([4, 8, 12, 16]))
    h = int(rng.integers(kh, kh + 14))
    w = int(rng.integers(kw, kw + 12))
    if rng.random() < 0.3:
        h = kh
    if rng.random() < 0.3:
        w = kw
    s = int(rng.integers(1, 3)) if rng.random() < 0.5 else 1
    pad = int(rng.integers(2))
    x = b.input((1, h, w, c), "int8", quant(0.02, int(rng.choice([-128, 3, 0]))))
    shape = (1, kh, kw, c) if depthwise else (oc, kh, kw, c)
    q = wq(rng, oc, 3 if depthwise else 0)
    wt = b.const(rng.integers(-127, 128, shape), "int8", q)
    bias = b.const(
        rng.integers(-2000, 2000, oc),
        "int32",
        Quantization(tuple(f32(b[x].scale * k) for k in q.scale), (0,) * oc, 0),
    )
    oh, ow = (-(-h // s), -(-w // s)) if pad == 0 else ((h - kh) // s + 1, (w - kw) // s + 1)
    act = int(rng.choice([0, 1, 1, 3]))
    y = b.tensor(
        (1, oh, ow, oc), "int8", quant(0.05 if act else 0.1, -128 if act else int(rng.integers(-20, 20)))
    )
    more = {"depth_multiplier": 1} if depthwise else {}
    b.op(
        "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
        [x, wt, bias],
        [y],
        "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions",
        3,
        stride_h=s,
        stride_w=s,
        padding=pad,
        fused_activation_function=act,
        **more,
    )
    return y


def fc(b, rng, big=False):
    d = int(rng.choice([4, 8, 12, 16, 20, 32, 40, 64, 96, 120, 128, 200, 256, 392, 500, 1000, 2000, 4000]))
    u = int(rng.choice([1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 32, 48, 64, 128]))
    if d * u > 40000:
        u = min(u, 8)
    x = b.input((1, d), "int8", quant(0.02, int(rng.choice([-128, 3, 0]))))
    wt = b.const(rng.integers(-127, 128, (u, d)), "int8", quant(0.005))
    bias = b.const(rng.integers(-2000, 2000, u), "int32", quant(f32(0.02) * f32(0.005)))
    act = int(rng.choice([0, 1]))
    y = b.tensor((1, u), "int8", quant(0.2, -128 if act else 5))
    b.op("FULLY_CONNECTED", [x, wt, bias], [y], "FullyConnectedOptions", 4, fused_activation_function=act)
    return y


def softmax(b, rng):
    d = int(rng.choice([2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 35]))
    x = b.input((1, d), "int8", quant(float(rng.uniform(0.05, 0.2)), 3))
    y = b.tensor((1, d), "int8", quant(1 / 256, -128))
    b.op("SOFTMAX", [x], [y], "SoftmaxOptions", 2, beta=1.0)
    return y


def logistic(b, rng):
    d = int(rng.choice([1, 2, 3, 4, 8, 12, 64, 100]))
    x = b.input((1, d), "int8", quant(0.05, 3))
    y = b.tensor((1, d), "int8", quant(1 / 256, -128))
    b.op("LOGISTIC", [x], [y])
    if rng.random() < 0.5:
        z = b.tensor((1, d), "uint8", quant(1 / 256, 0))
        b.op("QUANTIZE", [y], [z])
        return z
    return y


def pool(b, rng):
    kh, kw = [(2, 2), (3, 3), (25, 5), (1, 4), (8, 8), (2, 1), (1, 2), (4, 4)][rng.integers(8)]
    c = int(rng.choice(CH))
    full = rng.random() < 0.5
    h = kh if full else kh * int(rng.integers(1, 5))
    w = kw if full else kw * int(rng.integers(1, 5))
    q = quant(0.05, -10)
    x = b.input((1, h, w, c), "int8", q)
    y = b.tensor((1, h // kh, w // kw, c), "int8", q)
    b.op(
        str(rng.choice(["AVERAGE_POOL_2D", "MAX_POOL_2D"])),
        [x],
        [y],
        "Pool2DOptions",
        2,
        stride_h=kh,
        stride_w=kw,
        filter_height=kh,
        filter_width=kw,
        padding=1,
    )
    return y


def concat(b, rng):
    q = quant(0.05, 3)
    c = int(rng.choice([8, 16, 32, 40, 64, 100]))
    t = int(rng.integers(1, 17))
    n = int(rng.integers(1, 4))
    ax = 1 if rng.random() < 0.7 else 3
    x = b.input((1, t, 1, c), "int8", q)
    x2 = b.input((1, n, 1, c) if ax == 1 else (1, t, 1, c // 2), "int8", q)
    y = b.tensor((1, t + n, 1, c) if ax == 1 else (1, t, 1, c + c // 2), "int8", q)
    b.op("CONCATENATION", [x, x2], [y], "ConcatenationOptions", axis=ax)
    return y


def sslice(b, rng):
    q = quant(0.05, 3)
    c = int(rng.choice([8, 16, 32, 40, 64, 100]))
    t = int(rng.integers(2, 17))
    n = int(rng.integers(1, t))
    x = b.input((1, t, 1, c), "int8", q)
    y = b.tensor((1, t - n, 1, c), "int8", q)
    beg = b.const([0, n, 0, 0], "int32")
    end = b.const([0, 0, 0, 0], "int32")
    st = b.const([1, 1, 1, 1], "int32")
    b.op("STRIDED_SLICE", [x, beg, end, st], [y], "StridedSliceOptions", begin_mask=0b1101, end_mask=0b1111)
    return y


def split(b, rng):
    q = quant(0.05, 3)
    c = int(rng.choice([8, 16, 32, 64]))
    t = int(rng.integers(2, 17))
    x = b.input((1, t, 1, c), "int8", q)
    ys = [b.tensor((1, t, 1, c // 2), "int8", q) for _ in range(2)]
    sz = b.const([c // 2, c // 2], "int32")
    ax = b.const(3, "int32")
    b.op("SPLIT_V", [x, sz, ax], ys, "SplitVOptions", num_splits=2)
    return ys


KINDS = {
    "conv": lambda b, r: conv(b, r),
    "conv1": lambda b, r: conv(b, r, simple="1x1"),
    "tall": lambda b, r: conv(b, r, simple="tall"),
    "conv3": lambda b, r: conv(b, r, simple="3x3"),
    "dw": lambda b, r: conv(b, r, True),
    "dw3": lambda b, r: conv(b, r, True, "3x3"),
    "fc": fc,
    "softmax": softmax,
    "logistic": logistic,
    "pool": pool,
    "concat": concat,
    "sslice": sslice,
    "split": split,
}


#: The kinds of layers that are built into one model, and how many of each.
GROUPS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("conv", "conv1", "conv3"), 14),
    (("tall",), 26),
    (("dw", "dw3"), 18),
    (("dw3",), 26),
    (("fc",), 25),
    (("softmax", "logistic", "pool", "sslice", "concat", "split"), 9),
)


def random_layers(kinds: tuple[str, ...], count: int, seed: int) -> Model:
    """Return a model with ``count`` layers of each of ``kinds``."""
    rng = np.random.default_rng(seed)
    b = GraphBuilder(rng)
    for kind in kinds:
        for _ in range(count):
            KINDS[kind](b, rng)
    return b.build()
