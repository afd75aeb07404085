"""The channels that can be removed: constants that fold into biases, and channels that nothing reads any more.

A convolution or a fully connected layer does not need an input channel c when

- its weights for c are 0 in every output channel that stays, or
- c is the constant v, and the sum of its weights over the taps inside the image is the same at every position (no
  padding, or weights that make none of it), so that v adds the same to every accumulator; a v that equals the zero
  point adds 0 anywhere, because padding is the zero point too.

Tied nodes are removed when no reader needs any of them. Removed output channels need no inputs, so the choice is
repeated until nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from arenite.converters.graph.model import Subgraph
from arenite.converters.passes.channels.channel_groups import ChannelGroups
from arenite.converters.passes.intervals.bounds import Bounds
from arenite.converters.passes.intervals.layer import Layer


class ChannelReader:
    """A layer and the contribution of each input channel to its outputs."""

    def __init__(self, layer: Layer, known: Bounds) -> None:
        self.inp, self.out = layer.inp.index, layer.out.index
        sums = contribution(layer)
        self._reads = np.abs(layer.weights).max(axis=(1, 2), initial=0) > 0  # [out_c, in_c]
        self._uneven = (sums != sums[..., :1]).any(axis=-1)
        zero = layer.inp.zero_point
        self._silent = known.constant & (known.low == zero)
        # `largest` includes the contributions of folded constants: below 2**31 no bias can overflow.
        self._foldable = known.constant & bool(np.all(layer.largest < 1 << 31))

    def needs(self, kept: np.ndarray) -> np.ndarray:
        """bool [in_c]: the input channels that the output channels ``kept`` (bool [out_c]) need."""
        read = self._reads[kept].any(axis=0)
        even = ~self._uneven[kept].any(axis=0)
        value: np.ndarray = read & ~self._silent & ~(self._foldable & even)
        return value


def contribution(layer: Layer) -> np.ndarray:
    """Sum of the weights over the taps inside the image: int64 [out_c, in_c, kinds of position]."""
    return layer.over_position_kinds(np.moveaxis(layer.weights, 3, 1))


def select_channels(
    graph: Subgraph, links: ChannelGroups, known: Mapping[int, Bounds], *, multiple: int = 1
) -> dict[int, np.ndarray]:
    """Return the channels that stay, bool [channels], of each tensor that loses some.

    Every tensor keeps at least one channel. A number of channels that is divisible by ``multiple`` stays divisible:
    kernels read several channels at a time, and an odd number would cost more than fewer channels save.
    """
    readers = [ChannelReader(layer, known[layer.inp.index]) for layer in links.readers]
    protected = np.zeros(links.count, bool)
    while True:
        removed = _removable(graph, links, readers, protected)
        spared = _kept_for_minimum(graph, links, removed, multiple)
        if not spared.any():
            break
        protected |= spared
    masks = {t: ~removed[links.nodes(graph, t)] for t in links.base}
    return {t: kept for t, kept in masks.items() if not kept.all()}


def _removable(
    graph: Subgraph, links: ChannelGroups, readers: list[ChannelReader], protected: np.ndarray
) -> np.ndarray:
    """bool per node: the nodes that can be removed when ``protected`` ones stay."""
    removed = np.zeros(links.count, bool)
    while True:
        needed = links.pinned | protected
        for reader in readers:
            nodes = links.nodes(graph, reader.inp)
            needed[nodes] |= reader.needs(~removed[links.nodes(graph, reader.out)])
        groups = np.zeros(links.count, bool)
        groups[links.group[needed]] = True
        now = ~groups[links.group]
        if np.array_equal(now, removed):
            return removed
        removed = now


def _kept_for_minimum(
    graph: Subgraph, links: ChannelGroups, removed: np.ndarray, multiple: int
) -> np.ndarray:
    """bool per node: those among ``removed`` that must stay, so that no tensor has too few or an odd number of
    channels.

    A layer whose weights have a scale per channel keeps two channels: one scale alone reads as a scale per tensor.
    """
    minimum = dict.fromkeys(links.base, 1)
    for op in graph.ops:
        quants = [graph.tensors[i].quant for i in op.inputs[1:2] if i >= 0]
        if any(q is not None and q.per_axis for q in quants):
            minimum.update({o: 2 for o in op.outputs if o in minimum})
    spared = np.zeros(links.count, bool)
    for tensor, count in minimum.items():
        nodes = links.nodes(graph, tensor)
        lost = nodes[removed[nodes] & ~spared[nodes]]
        if not lost.size:
            continue
        stay = max(len(nodes) - lost.size, min(count, len(nodes)))
        if len(nodes) % multiple == 0:
            stay += -stay % multiple
        chosen = np.zeros(links.count, bool)
        chosen[links.group[lost[: stay - (len(nodes) - lost.size)]]] = True
        spared |= chosen[links.group]
    return spared
