"""Recognition of the project's own architectures and their sizes by the shapes of a model's weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from arenite.converters.graph.model import Model
from arenite.errors import UsageError
from arenite.models.architectures import ARCHITECTURES, network
from arenite.models.architectures.network import Network

_WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")

#: Widths that are tried, the usual ones first: several can have the same channels.
RECOGNIZED_WIDTHS = (*(1.0, 0.5, 0.25, 0.75, 0.35, 1.4, 2.0), *(k / 20 for k in range(1, 41)))

Shapes = Mapping[tuple[str, tuple[int, ...]], int]


@dataclass(frozen=True)
class NetworkSize:
    """An architecture of a certain size. ``shape`` is the input's shape without the batch."""

    architecture: str
    width: float
    shape: tuple[int, ...]
    classes: int

    @property
    def square(self) -> bool:
        """Whether the input is a square picture, whose side is its resolution."""
        return len(self.shape) == 3 and self.shape[0] == self.shape[1] > 1

    def network(self) -> Network:
        return network(self.architecture, self.shape, self.classes, self.width)


def recognize_architecture(model: Model) -> NetworkSize | None:
    """The architecture and size with the layers of ``model``, for any types; None for another kind of model."""
    graph = model.main
    if len(graph.inputs) != 1:
        return None
    shape = graph.tensors[graph.inputs[0]].shape[1:]
    classes = graph.tensors[graph.outputs[-1]].shape[-1] if graph.tensors[graph.outputs[-1]].shape else 0
    weight_counts = Counter(
        (op.name, graph.tensors[op.inputs[1]].shape) for op in graph.ops if op.name in _WEIGHTED
    )
    for name in ARCHITECTURES:
        if len(graph.outputs) != (2 if name == "detector" else 1):
            continue
        for width in RECOGNIZED_WIDTHS:
            size = NetworkSize(name, width, tuple(shape), classes)
            if _same(size, weight_counts):
                return size
    return None


def _same(size: NetworkSize, weight_counts: Shapes) -> bool:
    try:
        return weight_shapes(size.network()) == weight_counts
    except UsageError:
        return False  # an input that does not fit this architecture


def weight_shapes(network: Network) -> Shapes:
    """The number of operators of each kind with weights of each shape, in TFLite's layout."""
    shapes = network.shapes()
    weight_counts: Counter[tuple[str, tuple[int, ...]]] = Counter()
    for layer in network.layers:
        before = shapes[layer.inputs[0]]
        if layer.kind == "conv":
            weight_counts["CONV_2D", (layer.filters, *layer.kernel, before[2])] += 1
        elif layer.kind == "depthwise":
            weight_counts["DEPTHWISE_CONV_2D", (1, *layer.kernel, before[2])] += 1
        elif layer.kind == "dense":
            weight_counts["FULLY_CONNECTED", (layer.filters, before[-1])] += 1
    return weight_counts
