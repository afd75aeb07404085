"""Select the channels that can be removed: constant channels that can be added to biases, and channels that no layer
reads.

A convolution or a fully connected layer does not need an input channel c if

- its weights for c are 0 in every output channel that stays, or
- c has the constant value v, and the sum of the weights for c over the taps inside the image is the same at every
  position (there is no padding, or the weights of the taps outside are 0). Then c adds the same to every accumulator.
  If v is the zero point, c adds 0 everywhere, because padding has the value of the zero point too.

Nodes and ties are explained in ``channel_groups.py``. Tied nodes are removed if no layer needs any of them. Removed
output channels need no inputs, so the selection is repeated until nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from arenite.converters.graph.model import Subgraph
from arenite.converters.passes.channels.channel_groups import ChannelGroups
from arenite.converters.passes.intervals.bounds import Bounds
from arenite.converters.passes.intervals.layer import Layer


class ChannelReader:
    """A layer that reads all its input channels. ``needs`` returns the input channels without which its outputs would
    change."""

    def __init__(self, layer: Layer, input_bounds: Bounds) -> None:
        self.inp, self.out = layer.inp.index, layer.out.index
        sums = contribution(layer)
        self._reads = np.abs(layer.weights).max(axis=(1, 2), initial=0) > 0  # [out_c, in_c]
        # bool [out_c, in_c]: the sum of the weights over the taps is not the same for all kinds of position.
        self._uneven = (sums != sums[..., :1]).any(axis=-1)
        zero = layer.inp.zero_point
        self._always_zero_point = input_bounds.constant & (input_bounds.low == zero)
        # `largest` includes the contributions of constant channels. If it is below 2**31, no bias can overflow.
        self._foldable = input_bounds.constant & bool(np.all(layer.largest < 1 << 31))

    def needs(self, kept_outputs: np.ndarray) -> np.ndarray:
        """Return the input channels (bool [in_c]) that the output channels ``kept_outputs`` (bool [out_c]) need."""
        read = self._reads[kept_outputs].any(axis=0)
        even = ~self._uneven[kept_outputs].any(axis=0)
        return cast(np.ndarray, read & ~self._always_zero_point & ~(self._foldable & even))


def contribution(layer: Layer) -> np.ndarray:
    """Return the sums of the weights over the taps inside the image: int64 [out_c, in_c, kinds of position].

    A kind of position is a set of taps that are inside the image (see ``Layer``).
    """
    return layer.over_position_kinds(np.moveaxis(layer.weights, 3, 1))


def select_channels(
    graph: Subgraph, groups: ChannelGroups, bounds_by_tensor: Mapping[int, Bounds], *, multiple: int = 1
) -> dict[int, np.ndarray]:
    """Return a mask of the remaining channels, bool [channels], for each tensor that loses channels.

    Every tensor keeps at least one channel. A number of channels that is divisible by ``multiple`` stays divisible:
    kernels read several channels at a time, and another number would cost more time than the removed channels save.
    """
    readers = [ChannelReader(layer, bounds_by_tensor[layer.inp.index]) for layer in groups.readers]
    protected = np.zeros(groups.count, bool)
    while True:
        removed = _removable(graph, groups, readers, protected)
        spared = _kept_for_minimum(graph, groups, removed, multiple)
        if not spared.any():
            break
        protected |= spared
    masks = {t: ~removed[groups.nodes(graph, t)] for t in groups.base}
    return {t: mask for t, mask in masks.items() if not mask.all()}


def _removable(
    graph: Subgraph, groups: ChannelGroups, readers: list[ChannelReader], protected: np.ndarray
) -> np.ndarray:
    """Return the nodes that can be removed if the nodes ``protected`` stay. Both are masks: bool [nodes]."""
    removed = np.zeros(groups.count, bool)
    while True:
        needed = groups.pinned | protected
        for reader in readers:
            nodes = groups.nodes(graph, reader.inp)
            needed[nodes] |= reader.needs(~removed[groups.nodes(graph, reader.out)])
        needed_groups = np.zeros(groups.count, bool)
        needed_groups[groups.group[needed]] = True
        removable = ~needed_groups[groups.group]
        if np.array_equal(removable, removed):
            return removed
        removed = removable


def _kept_for_minimum(
    graph: Subgraph, groups: ChannelGroups, removed: np.ndarray, multiple: int
) -> np.ndarray:
    """Return a mask of the nodes among ``removed`` that must stay, so that every tensor keeps its minimum number of
    channels, and a number that is divisible by ``multiple`` stays divisible. Both masks are bool [nodes].

    The minimum is one channel, or two channels for the output of a layer whose weights have a scale per channel,
    because a single scale would be read as one scale for the whole tensor.
    """
    minimum = dict.fromkeys(groups.base, 1)
    for op in graph.ops:
        quants = [graph.tensors[i].quant for i in op.inputs[1:2] if i >= 0]
        if any(q is not None and q.per_axis for q in quants):
            minimum.update({o: 2 for o in op.outputs if o in minimum})
    spared = np.zeros(groups.count, bool)
    for tensor, count in minimum.items():
        nodes = groups.nodes(graph, tensor)
        lost = nodes[removed[nodes] & ~spared[nodes]]
        if not lost.size:
            continue
        stay = max(len(nodes) - lost.size, min(count, len(nodes)))
        if len(nodes) % multiple == 0:
            stay += -stay % multiple
        chosen = np.zeros(groups.count, bool)
        chosen[groups.group[lost[: stay - (len(nodes) - lost.size)]]] = True
        spared |= chosen[groups.group]
    return spared
