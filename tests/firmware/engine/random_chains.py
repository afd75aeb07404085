"""Random quantized chains of image operators, with residual additions. They use every operator that can run by rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arenite.converters.graph.model import Model
from tests.fuzz.cases.conv_2d import bias_for, conv_2d, output_quant, weights_quant
from tests.fuzz.cases.depthwise_conv_2d import depthwise_conv_2d
from tests.fuzz.cases.pool_2d import average_pool_2d, max_pool_2d
from tests.fuzz.graph_builder import GraphBuilder, f32


class ChainBuilder(GraphBuilder):
    """A graph builder in which each operator reads the output of the previous one."""

    def pick(
        self,
        dtypes: Sequence[str] = ("int8",),
        rank: int | Sequence[int] | None = None,
        *,
        zero_point: int | None = None,
        quantized: bool = True,
    ) -> int:
        """Return the output of the previous operator. All tensors of a chain are int8, so the arguments are ignored."""
        return self.ops[-1].outputs[0] if self.ops else self.inputs[0]


def pointwise(b: ChainBuilder) -> None:
    x = b.pick()
    _, h, w, c = b[x].shape
    out_c = int(b.rng.choice([3, 4, 8, 16]))
    wq = weights_quant(b, out_c, 0)
    weights = b.const(b.rng.integers(-127, 128, (out_c, 1, 1, c)), "int8", wq)
    y = b.tensor((1, h, w, out_c), "int8", output_quant(b, "int8", x, wq, c))
    bias = bias_for(b, x, wq, out_c)
    b.op("CONV_2D", [x, weights, bias], [y], "Conv2DOptions", version=3, stride_h=1, stride_w=1)


def depthwise_1x1(b: ChainBuilder) -> None:
    x = b.pick()
    shape = b[x].shape
    wq = weights_quant(b, shape[3], 3)
    weights = b.const(b.rng.integers(-127, 128, (1, 1, 1, shape[3])), "int8", wq)
    y = b.tensor(shape, "int8", output_quant(b, "int8", x, wq, 1))
    inputs = [x, weights, bias_for(b, x, wq, shape[3])]
    options: dict[str, Any] = {"stride_h": 1, "stride_w": 1, "depth_multiplier": 1}
    b.op("DEPTHWISE_CONV_2D", inputs, [y], "DepthwiseConv2DOptions", version=3, **options)


def depthwise_3x3(b: ChainBuilder) -> None:
    x = b.pick()
    _, h, w, c = b[x].shape
    stride = int(b.rng.choice([1, 1, 2]))
    wq = weights_quant(b, c, 3)
    weights = b.const(b.rng.integers(-127, 128, (1, 3, 3, c)), "int8", wq)
    shape = (1, -(-h // stride), -(-w // stride), c)
    y = b.tensor(shape, "int8", output_quant(b, "int8", x, wq, 9))
    inputs = [x, weights, bias_for(b, x, wq, c)]
    options: dict[str, Any] = {"stride_h": stride, "stride_w": stride, "depth_multiplier": 1}
    b.op("DEPTHWISE_CONV_2D", inputs, [y], "DepthwiseConv2DOptions", version=3, **options)


def add(b: ChainBuilder) -> None:
    """Add an ADD of the latest tensor and another tensor of the same shape, or of the latest tensor and itself."""
    x = b.pick()
    tensors = [*b.inputs, *(op.outputs[0] for op in b.ops)]
    same_shape = [t for t in tensors if b[t].shape == b[x].shape] or [x]
    second = int(b.rng.choice(same_shape))
    scale = max(b[x].scale, b[second].scale) * float(b.rng.uniform(0.8, 2.0))
    y = b.tensor(b[x].shape, "int8", b.quant("int8", scale=f32(scale)))
    b.op("ADD", [x, second], [y], "AddOptions", version=2)


def _logistic(b: ChainBuilder) -> None:
    x = b.pick()
    b.op("LOGISTIC", [x], [b.tensor(b[x].shape, "int8", b.quant("int8", -128, 1 / 256))])


def global_mean(b: ChainBuilder) -> None:
    x = b.pick()
    _, h, w, c = b[x].shape
    y = b.tensor((1, 1, 1, c), "int8", b[x].quant)
    sizes: dict[str, Any] = {
        "filter_height": h,
        "filter_width": w,
        "stride_h": h,
        "stride_w": w,
        "padding": 1,
    }
    b.op("AVERAGE_POOL_2D", [x], [y], "Pool2DOptions", version=2, **sizes)


_KINDS: tuple[Callable[[ChainBuilder], None], ...] = (
    conv_2d,
    depthwise_conv_2d,
    pointwise,
    pointwise,
    depthwise_3x3,
    depthwise_3x3,
    add,
    add,
    _logistic,
    average_pool_2d,
    max_pool_2d,
)


def chain(seed: int) -> Model:
    """Return a chain of two to eight operators on an image of up to 30 rows."""
    rng = np.random.default_rng([2024, seed])
    b = ChainBuilder(rng)
    h, w, c = int(rng.integers(3, 31)), int(rng.integers(1, 25)), int(rng.choice([1, 2, 3, 4, 8]))
    b.input((1, h, w, c), "int8", b.quant("int8"))
    for _ in range(int(rng.integers(2, 8))):
        kind = _KINDS[int(rng.integers(len(_KINDS)))]
        kind(b)
    if rng.random() < 0.3:
        global_mean(b)
    return b.build()
