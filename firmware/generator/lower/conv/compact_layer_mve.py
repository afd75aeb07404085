"""The constants of a convolution for the kernels that use ``compact_layer_mve.h``: six bytes for bias and scale of each
channel, or eight."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.convolution import biases_of, multipliers, view_convolution
from arenite.firmware.generator.lower.conv.gemm_layout_mve import folded_bias
from arenite.firmware.generator.lower.core.lowering import Expr, LowerContext, u16
from arenite.firmware.generator.requant.compact_channels import (
    DROPPED_BITS,
    LayerChannels,
    compact_channels,
    replace_extreme_scales,
)
from arenite.firmware.generator.requant.packed_multiplier import (
    Shortened,
    accumulator_bounds,
    shorten,
)
from arenite.firmware.generator.target import Target

#: The range of int8: the kernels limit outputs to it and to no narrower one.
_INT8 = (-128, 127)
#: The largest values of the fields with 8 and with 16 bits, and the largest right shift.
_MAX_8, _MAX_16, _MAX_RIGHT = 0xFF, 0xFFFF, 31
#: Bits of a multiplier below its leading one, and of an entry of the table with eight bytes for a channel.
_MULTIPLIER_BITS, _ENTRY_BITS = 30, 32
#: Numbers of bits to drop from the multipliers with eight bytes for a channel, in the order in which they are tried.
_DROPPED_8_BYTES = (3, 2, 1, 0)
#: The number of channels that are unpacked together.
UNPACKED = 4
#: Bytes of a channel in a record: AR_COMPACT_CHANNEL_MVE.
RECORD_BYTES = 9
#: Number of layers that are cached, because ``can_run`` and ``lower`` need the same result.
_CACHED_LAYERS = 512


@dataclass(frozen=True)
class CompactLayerMve:
    """The constants of a layer. ``words`` (int32) and ``table`` (uint16 or uint32) have an entry for each channel.

    ``filters`` are those of the model, int8 [channels, taps], except that they are zero in channels whose output is
    constant. ``spare``, ``shift_base`` and ``dropped`` are fields of ``ar_compact_layer_mve``.
    """

    filters: np.ndarray
    words: np.ndarray
    table: np.ndarray
    spare: int
    shift_base: int
    dropped: int


_cache: OrderedDict[tuple[int, int, int, Target], tuple[Subgraph, CompactLayerMve | None]] = OrderedDict()


def compact_layer_mve(graph: Subgraph, op: Op, axis: int, target: Target) -> CompactLayerMve | None:
    """Return the constants of an int8 convolution with int8 weights, or None if the kernels cannot run it exactly.

    ``axis`` is the axis of the output channels in the weights.
    """
    key = (id(graph), op.index, axis, target)
    entry = _cache.get(key)
    if entry is not None and entry[0] is graph:
        return entry[1]
    layer = _compact_layer(graph, op, axis) if _fits(graph, op) else None
    _cache[key] = (graph, layer)
    while len(_cache) > _CACHED_LAYERS:
        _cache.popitem(last=False)
    return layer


def _fits(graph: Subgraph, op: Op) -> bool:
    """Return whether the properties of the layer fit the fields of ``ar_compact_layer_mve``."""
    inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
    if inp.data is not None:
        return False  # the kernels read some bytes after the input, which may be at the end of flash
    if inp.dtype != "int8" or w.data is None or w.stored or inp.shape[0] != 1:
        return False
    view = view_convolution(graph, op)
    if view.dilation != (1, 1) or view.activation_range != _INT8:
        return False
    return max(*view.kernel, *view.stride, *view.padding) <= _MAX_8 and max(*inp.shape, *out.shape) <= _MAX_16


def _compact_layer(graph: Subgraph, op: Op, axis: int) -> CompactLayerMve | None:
    view = view_convolution(graph, op)
    channels, zero_in, zero_out = view.output.shape[3], view.input.zero_point, view.output.zero_point
    multiplier, shift = (
        np.resize(v, channels) for v in multipliers(op, view.input, view.weights, view.output)
    )
    levels = np.arange(_INT8[0] + 1, _INT8[1] + 1) - zero_out
    reach = (_INT8[0] - zero_in, _INT8[1] - zero_in)

    def bounds(layer: LayerChannels) -> tuple[np.ndarray, np.ndarray]:
        return accumulator_bounds(layer.weights, axis, layer.bias, reach)

    model = LayerChannels(multiplier, shift, biases_of(view.bias, channels), view.filters)
    layer = replace_extreme_scales(model, axis, bounds(model), zero_out, _INT8)
    if layer is None:
        return None
    # Rounding ties away from zero needs a right shift if outputs can be below the zero point.
    least = 1 if zero_out > _INT8[0] else 0
    filters = np.moveaxis(layer.weights, axis, 0).reshape(channels, -1)
    bias = folded_bias(filters, layer.bias, zero_in)

    def short(dropped: int) -> Shortened | None:
        found = shorten(layer.multiplier, layer.shift, *bounds(layer), levels, dropped)
        in_range = found is not None and least <= found.right.min() and found.right.max() <= _MAX_RIGHT
        return found if in_range else None

    return _six_bytes(filters, bias, short) or _eight_bytes(filters, bias, short)


def _six_bytes(
    filters: np.ndarray, bias: np.ndarray, short: Callable[[int], Shortened | None]
) -> CompactLayerMve | None:
    for dropped in DROPPED_BITS:
        shortened = short(dropped)
        dense = None if shortened is None else compact_channels(shortened, bias)
        if dense is not None:
            return CompactLayerMve(filters, dense.bias, dense.table, dense.spare, dense.shift_base, dropped)
    return None


def _eight_bytes(
    filters: np.ndarray, bias: np.ndarray, short: Callable[[int], Shortened | None]
) -> CompactLayerMve | None:
    for dropped in _DROPPED_8_BYTES:
        shortened = short(dropped)
        if shortened is None:
            continue
        base, shift_bits = int(shortened.right.min()), _ENTRY_BITS - (_MULTIPLIER_BITS - dropped)
        if shortened.right.max() - base < 1 << shift_bits:
            table = (shortened.stored << shift_bits | (shortened.right - base)).astype(np.uint32)
            return CompactLayerMve(filters, bias, table, 0, base, dropped)
    return None


def layer_fields(ctx: LowerContext, layer: CompactLayerMve, weights: np.ndarray) -> dict[str, Any]:
    """Return all fields of ``ar_compact_layer_mve``. ``weights`` are the filters in the kernel's layout."""
    op, view = ctx.op, view_convolution(ctx.graph, ctx.op)
    (_, in_h, in_w, in_c), (_, out_h, out_w, out_c) = view.input.shape, view.output.shape
    (k_h, k_w), (stride_h, stride_w), (top, left) = view.kernel, view.stride, view.padding
    return {
        "input": ctx.input_ptr(0),
        "output": ctx.output_ptr(),
        "scratch": ctx.scratch_ptr(),
        "weights": _weights_and_channels(ctx, layer, weights),
        "spare": layer.spare,
        "shift_base": layer.shift_base,
        "dropped": layer.dropped,
        "has_padding": int(has_padding(ctx.graph, op)),
        "in_h": u16(op, in_h, "input height"),
        "in_w": u16(op, in_w, "input width"),
        "in_c": u16(op, in_c, "input channels"),
        "out_h": u16(op, out_h, "output height"),
        "out_w": u16(op, out_w, "output width"),
        "out_c": u16(op, out_c, "output channels"),
        "k_h": k_h,
        "k_w": k_w,
        "stride_h": stride_h,
        "stride_w": stride_w,
        "pad_top": top,
        "pad_left": left,
        "input_zero": view.input.zero_point,
        "output_zero": view.output.zero_point,
    }


def _weights_and_channels(ctx: LowerContext, layer: CompactLayerMve, weights: np.ndarray) -> Expr:
    """Return the address of the weights, the words and the table."""
    missing = -len(layer.words) % UNPACKED
    table = np.pad(layer.table, (0, missing))
    parts = [
        np.pad(weights.reshape(-1).view(np.uint8), (0, -weights.size % 4)),
        np.pad(layer.words, (0, missing)).view(np.uint8),
        table.view(np.uint8),
    ]
    return ctx.weights(np.concatenate(parts).view(np.uint32), "weights", table.nbytes)


def has_padding(graph: Subgraph, op: Op) -> bool:
    """Return whether a window begins or ends outside the image."""
    view = view_convolution(graph, op)
    for axis in (0, 1):
        end = (view.output.shape[1 + axis] - 1) * view.stride[axis] + view.kernel[axis]
        if view.padding[axis] != 0 or end > view.input.shape[1 + axis]:
            return True
    return False
