"""Describe a network as plain data: a list of named layers. The Keras, PyTorch and untrained models are built from this
description, so they all have the same structure.

Shapes do not include the batch: (height, width, channels) for pictures, (features,) for vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import prod
from typing import Any

from arenite.errors import UsageError

INPUT = "input"
"""The name by which layers refer to the network's input."""


@dataclass(frozen=True)
class Layer:
    """A layer. ``kind`` is "conv", "depthwise", "dense", "mean" (over height and width), "flatten", "reshape",
    "add", "concat" (along the first axis) or "dropout" (only in training).

    ``inputs`` are the names of the layers whose outputs the layer reads, or ``INPUT``. ``filters`` is the number of
    output channels, or of units of a dense layer. If ``normalize`` is true, the layer has a batch normalization
    instead of a bias. ``activation`` is the last step: "" for none, "relu", "relu6", "sigmoid" or "softmax". ``rate``
    is the rate of a dropout, ``bias`` the initial value of the bias, and ``shape`` the output shape of a "reshape".
    """

    kind: str
    name: str
    inputs: tuple[str, ...]
    filters: int = 0
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    padding: str = "same"
    normalize: bool = False
    activation: str = ""
    rate: float = 0.0
    bias: float = 0.0
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class Network:
    """A network. ``width`` is the factor by which its numbers of channels were multiplied. ``outputs`` are names of
    layers."""

    architecture: str
    width: float
    input_shape: tuple[int, ...]
    classes: int
    layers: tuple[Layer, ...]
    outputs: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return all data of the network and the shapes of ``shapes()``. Subprocesses build models from this object."""
        return asdict(self) | {"shapes": self.shapes()}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the input and of each layer's output, by name."""
        shapes = {INPUT: self.input_shape}
        for layer in self.layers:
            shapes[layer.name] = _output_shape(layer, shapes[layer.inputs[0]])
        return shapes

    @property
    def name(self) -> str:
        """The architecture, the width in percent and the input shape, such as ``dscnn_w50_28x28x1``."""
        shape = "x".join(map(str, self.input_shape))
        return f"{self.architecture}_w{round(self.width * 100)}_{shape}"


def _output_shape(layer: Layer, input_shape: tuple[int, ...]) -> tuple[int, ...]:
    if layer.kind in ("conv", "depthwise"):
        # "same" padding.
        sides = (-(-n // stride) for n, stride in zip(input_shape, layer.stride, strict=False))
        return (*sides, layer.filters or input_shape[2])
    if layer.kind == "dense":
        return (layer.filters,)
    if layer.kind == "mean":
        return input_shape[-1:]
    if layer.kind == "flatten":
        return (prod(input_shape),)
    return layer.shape if layer.kind == "reshape" else input_shape


@dataclass
class Builder:
    """Collects the layers of a network. Each method except ``network`` adds a layer and returns its name, which later
    layers can have as an input."""

    layers: list[Layer] = field(default_factory=list)

    def conv(
        self,
        x: str,
        filters: int,
        kernel: tuple[int, int],
        stride: tuple[int, int] = (1, 1),
        *,
        activation: str = "relu",
        normalize: bool = True,
        bias: float = 0.0,
    ) -> str:
        return self._add(
            Layer(
                *("conv", self._name("conv"), (x,), filters, kernel, stride),
                normalize=normalize,
                activation=activation,
                bias=bias,
            )
        )

    def depthwise(
        self, x: str, kernel: tuple[int, int], stride: tuple[int, int] = (1, 1), *, activation: str = "relu"
    ) -> str:
        return self._add(
            Layer(
                *("depthwise", self._name("depthwise"), (x,), 0, kernel, stride),
                normalize=True,
                activation=activation,
            )
        )

    def dense(self, x: str, units: int, *, activation: str = "", normalize: bool = False) -> str:
        return self._add(
            Layer("dense", self._name("dense"), (x,), units, normalize=normalize, activation=activation)
        )

    def add(self, a: str, b: str, *, activation: str = "") -> str:
        return self._add(Layer("add", self._name("add"), (a, b), activation=activation))

    def mean(self, x: str) -> str:
        return self._add(Layer("mean", self._name("mean"), (x,)))

    def flatten(self, x: str) -> str:
        return self._add(Layer("flatten", self._name("flatten"), (x,)))

    def reshape(self, x: str, shape: tuple[int, ...], *, activation: str = "") -> str:
        return self._add(Layer("reshape", self._name("reshape"), (x,), shape=shape, activation=activation))

    def dropout(self, x: str, rate: float) -> str:
        return self._add(Layer("dropout", self._name("dropout"), (x,), rate=rate))

    def network(
        self, architecture: str, width: float, shape: Sequence[int], classes: int, outputs: Sequence[str]
    ) -> Network:
        """Return the network of all layers that were added. ``shape`` is the input's shape."""
        return Network(architecture, width, tuple(shape), classes, tuple(self.layers), tuple(outputs))

    def _add(self, layer: Layer) -> str:
        self.layers.append(layer)
        return layer.name

    def _name(self, kind: str) -> str:
        return f"{kind}_{sum(layer.kind == kind for layer in self.layers)}"


def channels(base: int, width: float, step: int = 8) -> int:
    """Return the number of channels of a layer: ``base * width``, rounded to a multiple of ``step``. The result is at
    least ``step`` and at least 90 % of the product.

    This is the rule in the reference code of the MobileNet papers.
    """
    exact_channels = base * width
    rounded = max(step, int(exact_channels + step / 2) // step * step)
    return rounded + step if rounded < 0.9 * exact_channels else rounded


def picture(shape: Sequence[int], architecture: str) -> tuple[int, int, int]:
    """Return ``shape`` as (height, width, channels). Raises ``UsageError`` if it does not have three dimensions."""
    if len(shape) != 3 or min(shape) < 1:
        raise UsageError(
            f"'{architecture}' takes pictures (height, width, channels), not samples of shape {list(shape)}.",
            "Choose another architecture, or other data.",
        )
    return shape[0], shape[1], shape[2]


def kernel_size(shape: Sequence[int], height: int, width: int) -> tuple[int, int]:
    """Return the size (height, width) of a kernel: ``height`` x ``width``, but no larger than a picture of ``shape``.

    A sequence is a picture of width 1, so its kernels have width 1.
    """
    return min(height, shape[0]), min(width, shape[1])
