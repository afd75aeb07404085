"""Recognize the built-in architecture and the size of a model by the shapes of its weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from arenite.converters.graph.model import Model
from arenite.errors import UsageError
from arenite.models.architectures import ARCHITECTURES, network
from arenite.models.architectures.network import Network

_OPERATORS_WITH_WEIGHTS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")

#: The widths that are tried. Several widths can give the same numbers of channels, so the usual widths come first.
RECOGNIZED_WIDTHS = (*(1.0, 0.5, 0.25, 0.75, 0.35, 1.4, 2.0), *(k / 20 for k in range(1, 41)))

#: {(operator name, shape of its weights): number of operators with these weights}
Shapes = Mapping[tuple[str, tuple[int, ...]], int]


@dataclass(frozen=True)
class NetworkSize:
    """An architecture with its size. ``shape`` is the input's shape without the batch."""

    architecture: str
    width: float
    shape: tuple[int, ...]
    classes: int

    @property
    def is_square(self) -> bool:
        """Whether the input is a square picture. Its side is then the resolution."""
        return len(self.shape) == 3 and self.shape[0] == self.shape[1] > 1

    def network(self) -> Network:
        return network(self.architecture, self.shape, self.classes, self.width)


def recognize_architecture(model: Model) -> NetworkSize | None:
    """Return the architecture and the size of ``model``, or None if it is another network. The model may have any data
    types."""
    graph = model.main
    if len(graph.inputs) != 1:
        return None
    shape = graph.tensors[graph.inputs[0]].shape[1:]
    classes = graph.tensors[graph.outputs[-1]].shape[-1] if graph.tensors[graph.outputs[-1]].shape else 0
    weight_counts = Counter(
        (op.name, graph.tensors[op.inputs[1]].shape) for op in graph.ops if op.name in _OPERATORS_WITH_WEIGHTS
    )
    for name in ARCHITECTURES:
        if len(graph.outputs) != (2 if name == "detector" else 1):
            continue
        for width in RECOGNIZED_WIDTHS:
            size = NetworkSize(name, width, tuple(shape), classes)
            if _has_weight_shapes(size, weight_counts):
                return size
    return None


def _has_weight_shapes(size: NetworkSize, weight_counts: Shapes) -> bool:
    try:
        return weight_shapes(size.network()) == weight_counts
    except UsageError:
        return False  # this architecture does not support the input's shape


def weight_shapes(network: Network) -> Shapes:
    """Return {(operator name, shape of its weights in TFLite): number of operators} for ``network``."""
    shapes = network.shapes()
    weight_counts: Counter[tuple[str, tuple[int, ...]]] = Counter()
    for layer in network.layers:
        input_shape = shapes[layer.inputs[0]]
        if layer.kind == "conv":
            weight_counts["CONV_2D", (layer.filters, *layer.kernel, input_shape[2])] += 1
        elif layer.kind == "depthwise":
            weight_counts["DEPTHWISE_CONV_2D", (1, *layer.kernel, input_shape[2])] += 1
        elif layer.kind == "dense":
            weight_counts["FULLY_CONNECTED", (layer.filters, input_shape[-1])] += 1
    return weight_counts
