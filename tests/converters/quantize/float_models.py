"""Small float models with random weights, and samples for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.small_models import Net


@dataclass(frozen=True)
class Samples:
    """The part of a dataset that ``observe`` uses."""

    inputs: list[list[np.ndarray]]


class FloatNet(Net):
    """A ``Net`` whose tensors are float32 by default. The methods add constants or operators with random weights, and
    return the index of the new tensor."""

    def real(self, values: Any) -> int:
        """Add a float32 constant."""
        array = np.asarray(values, np.float32)
        return self.tensor(array.shape, "float32", data=array)

    def random(self, *shape: int, scale: float = 0.5) -> int:
        """Add a float32 constant with normally distributed values."""
        return self.real(self.rng.normal(size=shape) * scale)

    def layer(
        self, name: str, inputs: list[int], shape: tuple[int, ...], options: str = "", **values: Any
    ) -> int:
        """Add an operator with a float32 output."""
        return self.op(name, inputs, shape, "float32", options=options, **values)

    def conv(self, x: int, out: int, *, kernel: int = 3, stride: int = 1, relu: bool = True) -> int:
        """Add a CONV_2D with ``out`` channels and SAME padding."""
        _, h, w, c = self.tensors[x].shape
        return self.layer(
            "CONV_2D",
            [x, self.random(out, kernel, kernel, c, scale=(kernel * kernel * c) ** -0.5), self.random(out)],
            (1, -(-h // stride), -(-w // stride), out),
            "Conv2DOptions",
            stride_h=stride, stride_w=stride, fused_activation_function=int(relu), padding=0,
        )  # fmt: skip

    def depthwise(self, x: int, *, relu: bool = True) -> int:
        """Add a DEPTHWISE_CONV_2D with a 3 x 3 kernel and SAME padding."""
        _, h, w, c = self.tensors[x].shape
        return self.layer(
            "DEPTHWISE_CONV_2D",
            [x, self.random(1, 3, 3, c, scale=0.4), self.random(c)],
            (1, h, w, c),
            "DepthwiseConv2DOptions",
            stride_h=1, stride_w=1, depth_multiplier=1, fused_activation_function=int(relu), padding=0,
        )  # fmt: skip

    def dense(self, x: int, out: int) -> int:
        """Add a FULLY_CONNECTED with ``out`` units."""
        size = self.tensors[x].shape[-1]
        weights = self.random(out, size, scale=size**-0.5)
        return self.layer(
            "FULLY_CONNECTED", [x, weights, self.random(out)], (1, out), "FullyConnectedOptions"
        )

    def flat(self, x: int) -> int:
        """Add a RESHAPE to a vector."""
        size = self.tensors[x].elements
        return self.layer(
            "RESHAPE", [x, self.ints([1, size])], (1, size), "ReshapeOptions", new_shape=(1, size)
        )

    def bytes(self, *outputs: int) -> bytes:
        """Return the file of the model with these outputs."""
        return to_flatbuffer(self.model(list(outputs)))


def classifier(seed: int = 0, channels: int = 8) -> Model:
    """Return a classifier of 8 x 8 x 3 images with convolutions, a residual ADD, pooling, dense and softmax."""
    n = FloatNet(seed)
    x = n.input((1, 8, 8, 3), "float32")
    a = n.conv(x, channels, stride=2)
    b = n.conv(n.depthwise(a), channels, kernel=1, relu=False)
    c = n.layer("ADD", [a, b], (1, 4, 4, channels), "AddOptions", fused_activation_function=1)
    d = n.layer(
        "AVERAGE_POOL_2D", [c], (1, 2, 2, channels), "Pool2DOptions",
        stride_w=2, stride_h=2, filter_width=2, filter_height=2, padding=1,
    )  # fmt: skip
    e = n.dense(n.flat(d), 5)
    return n.model([n.layer("SOFTMAX", [e], (1, 5), "SoftmaxOptions", beta=1.0)])


def samples_for(model: Model, count: int = 24, seed: int = 1, scale: float = 1.0) -> Samples:
    """Return normally distributed samples for every input of ``model``."""
    rng = np.random.default_rng(seed)
    shapes = [model.main.tensors[i].shape for i in model.main.inputs]
    return Samples([[(rng.normal(size=s) * scale).astype(np.float32) for s in shapes] for _ in range(count)])
