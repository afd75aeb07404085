"""Find groups of channels that can only be removed together, channels that must stay, and the layers that read them.

A node is a channel of a computed int8 tensor. Operators that treat each channel separately, such as depthwise
convolutions, ADD and pools, tie each node of their input to a node of their output: both are removed or neither is.
Convolutions and fully connected layers read all channels of their input and compute each output channel independently,
so they tie no nodes. Any other operator pins every node of its tensors: pinned nodes cannot be removed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.passes.intervals.bounds import channels_of, is_analyzed, is_quantized
from arenite.converters.passes.intervals.elementwise import LIMITS
from arenite.converters.passes.intervals.layer import WEIGHTED, Layer, layer_of
from arenite.converters.passes.intervals.movement import keeps_last_axis, reshaped_channel_pairs
from arenite.converters.passes.intervals.pooling import reduced_axes
from arenite.converters.passes.intervals.rule import BoundsContext

#: Operators whose output channel c depends only on input channel c.
_PER_ELEMENT = {
    *LIMITS,
    "QUANTIZE",
    "LOGISTIC",
    "TANH",
    "HARD_SWISH",
    "LEAKY_RELU",
    "ELU",
    "GELU",
    "ABS",
    "NEG",
}
_WINDOWS = {"AVERAGE_POOL_2D", "MAX_POOL_2D", "RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"}
#: Operators with two operands, which may broadcast.
BINARY = {"ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"}
_PADS = {"PAD", "PADV2", "MIRROR_PAD"}


@dataclass(frozen=True)
class ChannelGroups:
    """The nodes of a graph and the ties between them."""

    base: dict[int, int]  # tensor -> the node of its channel 0; its other channels are the next nodes
    count: int  # the number of nodes
    group: np.ndarray  # int64 [count]: nodes with the same number are removed together or not at all
    pinned: np.ndarray  # bool [count]: nodes that cannot be removed
    readers: tuple[Layer, ...]  # layers that read all channels of their input and tie no nodes

    def nodes(self, graph: Subgraph, tensor: int) -> np.ndarray:
        """Return the nodes of ``tensor``, one per channel: int64 [channels]."""
        return self.base[tensor] + np.arange(channels_of(graph.tensors[tensor]))


def find_channel_groups(graph: Subgraph) -> ChannelGroups:
    """Return the nodes of ``graph``, the groups of tied nodes, the pinned nodes and the layers that read nodes."""
    return _GroupFinder(graph).find()


class _GroupFinder:
    """Ties nodes by union-find: ``parent`` maps each node to another node of its group, or to itself if it is the root.

    The methods in ``_CONNECT`` tie or pin the nodes of one operator. They return False if they cannot handle the
    operator, whose nodes are then all pinned.
    """

    def __init__(self, graph: Subgraph) -> None:
        self.graph = graph
        self.base: dict[int, int] = {}
        self.count = 0
        for t in graph.tensors:
            if is_analyzed(t) and (t.data is None or t.is_variable):
                self.base[t.index] = self.count
                self.count += channels_of(t)
        self.parent = list(range(self.count))
        self.pinned = np.zeros(self.count, bool)
        self.readers: list[Layer] = []

    def find(self) -> ChannelGroups:
        """Process all operators and return the groups."""
        graph = self.graph
        for t in graph.tensors:
            if t.index in graph.inputs or t.index in graph.outputs or t.is_variable or not is_quantized(t):
                self.pin(t.index)
        for op in graph.ops:
            connect = _CONNECT.get(op.name)
            if connect is None or len(op.outputs) != 1 or not connect(self, op):
                for i in (*op.inputs, *op.outputs, *op.intermediates):
                    self.pin(i)
        group = np.array([self.root(k) for k in range(self.count)], np.int64)
        return ChannelGroups(self.base, self.count, group, self.pinned, tuple(self.readers))

    def nodes(self, tensor: int) -> np.ndarray:
        return self.base[tensor] + np.arange(channels_of(self.graph.tensors[tensor]))

    def pin(self, tensor: int) -> None:
        """Mark every node of ``tensor`` as one that must stay."""
        if tensor in self.base:
            self.pinned[self.nodes(tensor)] = True

    def root(self, node: int) -> int:
        """Return the node that stands for the group of ``node``."""
        parent = self.parent
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def tie(self, first: np.ndarray, second: np.ndarray) -> None:
        """Put node ``first[k]`` and node ``second[k]`` into one group, for each k."""
        for a, b in zip(first.tolist(), second.tolist(), strict=True):
            a, b = self.root(a), self.root(b)
            if a != b:
                self.parent[max(a, b)] = min(a, b)

    def per_channel(self, op: Op) -> bool:
        """Tie channel c of input 0 to channel c of the output. Return False if the numbers of channels differ."""
        inp, out = op.inputs[0], op.outputs[0]
        if inp not in self.base or out not in self.base or len(self.nodes(inp)) != len(self.nodes(out)):
            return False
        self.tie(self.nodes(inp), self.nodes(out))
        return True

    def weighted(self, op: Op) -> bool:
        """Add a layer that reads all channels to the readers. Tie each output channel of a depthwise convolution to its
        input channel."""
        layer = layer_of(self.graph, op)
        inp, out = op.inputs[0], op.outputs[0]
        if layer is None or inp not in self.base or out not in self.base:
            return False
        if layer.input_channel is None:
            self.readers.append(layer)
        elif channels_of(layer.inp) == 1:
            self.pin(inp)  # every output channel reads the only input channel
        else:
            self.tie(self.nodes(inp)[layer.input_channel], self.nodes(out))
        return True

    def binary(self, op: Op) -> bool:
        """Tie computed operands to the output. An operand with one channel is pinned, because it is broadcast to all
        channels of the output. The rewrite removes the same channels from a constant operand as from the output."""
        out = op.outputs[0]
        if out not in self.base:
            return False
        channels = channels_of(self.graph.tensors[out])
        operands = [i for i in op.inputs[:2] if self.graph.tensors[i].data is None]
        if any(i not in self.base or len(self.nodes(i)) not in (1, channels) for i in operands):
            return False
        for i in operands:
            if len(self.nodes(i)) == channels:
                self.tie(self.nodes(i), self.nodes(out))
            else:
                self.pin(i)
        return True

    def reshape(self, op: Op) -> bool:
        """Tie each input channel to the output channels to which the RESHAPE moves its elements."""
        inp, out = op.inputs[0], op.outputs[0]
        if inp not in self.base or out not in self.base:
            return False
        before, after = self.nodes(inp), self.nodes(out)
        pairs = reshaped_channel_pairs(self.graph.tensors[out].elements, len(before), len(after))
        if pairs is None:
            return False
        self.tie(before[pairs[0]], after[pairs[1]])
        return True

    def pad(self, op: Op) -> bool:
        """Tie each channel to the same channel of the output. Return False if ``op`` adds channels."""
        return keeps_last_axis(BoundsContext(self.graph, op, {})) and self.per_channel(op)

    def mean(self, op: Op) -> bool:
        """Tie each channel to the same channel of the output. Return False if ``op`` computes a mean over channels."""
        return reduced_axes(BoundsContext(self.graph, op, {})) is not None and self.per_channel(op)

    def concatenate(self, op: Op) -> bool:
        """Tie the channels of each input to their channels in the output. If ``axis`` is the last axis, the output
        has the channels of all inputs one after the other; otherwise its channel c has the values of channel c of each
        input."""
        out = self.graph.tensors[op.outputs[0]]
        if out.index not in self.base or any(i not in self.base for i in op.inputs):
            return False
        at, last = 0, op.options["axis"] % len(out.shape) == len(out.shape) - 1
        for i in op.inputs:
            nodes = self.nodes(i)
            self.tie(nodes, self.nodes(out.index)[at : at + len(nodes)])
            at += len(nodes) if last else 0
        return True


_CONNECT: dict[str, Callable[[_GroupFinder, Op], bool]] = {
    **dict.fromkeys(_PER_ELEMENT | _WINDOWS, _GroupFinder.per_channel),
    **dict.fromkeys(WEIGHTED, _GroupFinder.weighted),
    **dict.fromkeys(BINARY, _GroupFinder.binary),
    **dict.fromkeys(_PADS, _GroupFinder.pad),
    "RESHAPE": _GroupFinder.reshape,
    "MEAN": _GroupFinder.mean,
    "CONCATENATION": _GroupFinder.concatenate,
}
