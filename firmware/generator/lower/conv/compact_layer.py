"""The constants of a convolution for the kernels that use ``compact_scale.h``: six bytes for bias and scale of each
channel, or eight."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.convolution import (
    biases_of,
    multipliers,
    stored_layer,
    view_convolution,
)
from arenite.firmware.generator.requant.compact_channels import DROPPED_BITS, LayerChannels
from arenite.firmware.generator.requant.packed_multiplier import SHIFT_BITS, accumulator_bounds
from arenite.firmware.generator.target import Target

#: The range of int8: the kernels limit outputs to it and to no narrower one.
_INT8 = (-128, 127)
#: The largest right shift. With a larger one, the rounding could exceed 32 bits.
_MAX_RIGHT = 22
#: With an accumulator nearer to zero than this number, 256 * accumulator has 32 bits.
_MAX_SUM = 1 << 23
#: Number of layers that are cached, because ``can_run`` and ``lower`` need the same result.
_CACHED_LAYERS = 512


@dataclass(frozen=True)
class CompactLayer:
    """The constants of a layer. ``words`` (int32) and ``table`` (uint16 or uint32) have an entry for each channel.

    ``weights`` are those of the model, except that they are zero in channels whose output is constant. ``spare``,
    ``shift_bits``, ``shift_base`` and ``dropped`` are fields of ``ar_compact_format``.
    """

    weights: np.ndarray
    words: np.ndarray
    table: np.ndarray
    zero_twice: int
    spare: int
    shift_bits: int
    shift_base: int
    dropped: int

    @property
    def words_and_table(self) -> np.ndarray:
        """The words of all channels, then the table, uint32."""
        table = (
            self.table
            if len(self.table) * self.table.itemsize % 4 == 0
            else np.append(self.table, self.table[:1])
        )
        return np.concatenate([self.words.view(np.uint32), table.view(np.uint32)])

    @property
    def format_fields(self) -> dict[str, object]:
        """All fields of ``ar_compact_format``."""
        return {
            "zero_twice": self.zero_twice,
            "spare": self.spare,
            "shift_bits": self.shift_bits,
            "shift_base": self.shift_base,
            "dropped": self.dropped,
        }


_cache: OrderedDict[tuple[int, int, int, Target], tuple[Subgraph, CompactLayer | None]] = OrderedDict()


def compact_layer(graph: Subgraph, op: Op, axis: int, target: Target) -> CompactLayer | None:
    """Return the constants of an int8 convolution with int8 weights, or None if the kernels cannot run it exactly.

    ``axis`` is the axis of the output channels in the weights.
    """
    key = (id(graph), op.index, axis, target)
    entry = _cache.get(key)
    if entry is not None and entry[0] is graph:
        return entry[1]
    layer = _compact_layer(graph, op, axis, target)
    _cache[key] = (graph, layer)
    while len(_cache) > _CACHED_LAYERS:
        _cache.popitem(last=False)
    return layer


def _compact_layer(graph: Subgraph, op: Op, axis: int, target: Target) -> CompactLayer | None:
    """Compute ``compact_layer``, without the cache."""
    view = view_convolution(graph, op)
    if view.input.dtype != "int8" or view.weights.data is None or view.activation_range != _INT8:
        return None
    if view.input.data is not None:
        return None  # the kernels read some bytes after the input, which may be at the end of flash
    channels = view.output.shape[3]
    multiplier, shift = (
        np.resize(v, channels) for v in multipliers(op, view.input, view.weights, view.output)
    )
    layer = LayerChannels(multiplier, shift, biases_of(view.bias, channels), view.filters)
    stored = stored_layer(target, layer, axis, view.input, view.output, _INT8)
    if stored.dense is not None:
        dense = stored.dense
        words, table, spare = dense.bias, dense.table, dense.spare
        bits, base = dense.shift_bits, dense.shift_base
        dropped = 14 + bits - spare
        assert dropped in DROPPED_BITS
    elif stored.packed is not None:
        words, table = stored.channels.bias, stored.packed.view(np.uint32)
        spare, bits, base, dropped = 0, SHIFT_BITS, 0, 3
    else:
        return None
    right = base + (table.astype(np.int64) & ((1 << bits) - 1))
    reach = (_INT8[0] - view.input.zero_point, _INT8[1] - view.input.zero_point)
    weights = stored.channels.weights
    lowest, highest = accumulator_bounds(weights, axis, stored.channels.bias, reach)
    if right.min() < 1 or right.max() > _MAX_RIGHT or max(-lowest.min(), highest.max()) >= _MAX_SUM:
        return None
    zero_twice = 2 * view.output.zero_point + 1
    return CompactLayer(weights, words, table, zero_twice, spare, bits, base - 1, dropped)
