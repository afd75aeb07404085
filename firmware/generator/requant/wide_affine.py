"""Requantize with one product of 64 bits, where it is proven to give LiteRT's outputs exactly.

WebAssembly multiplies 32-bit lanes to 64-bit lanes. The kernels compute for each channel

    out = clamp((acc * multiplier + offset + (negative if acc < 0 else 0)) >> (32 + shift))

with ``multiplier``, ``offset`` and ``negative`` per channel and ``shift`` per layer. The offset contains the rounding
and the output's zero point. As in ``affine.py``, LiteRT's output is described by the accumulators at which it
increases. For a given multiplier, each of them gives two bounds of ``offset``. Outputs below the zero point that are
not clamped need other bounds, because LiteRT rounds ties away from zero; ``negative`` is the difference.

Groups of channels for which ``float_affine.py`` proves a formula in float32 use that formula, which is faster.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import INTEGER_RANGE, activation_range
from arenite.firmware.generator.requant.affine import (
    OutputSteps,
    convolution_steps,
    fully_connected_steps,
)
from arenite.firmware.generator.requant.float_affine import FloatRequant, solve_float
from arenite.firmware.generator.requant.layer_scales import (
    accumulator_range,
    channel_multipliers,
    real_scale,
    weights_offset,
)
from arenite.firmware.generator.requant.packed_multiplier import accumulator_bounds

#: The number of layers that are cached, because several methods of a lowering need the same layer.
_CACHED_LAYERS = 512
#: Multipliers to try, as differences from the nearest one.
_NUDGES = (0, *(sign * k for k in range(1, 33) for sign in (1, -1)))
#: The largest shift. With it, all terms fit into 64 bits.
_MAX_SHIFT = 22
_UNBOUNDED = np.int64(1) << 62
_INT32 = (-(1 << 31), (1 << 31) - 1)


@dataclass(frozen=True)
class WideRequant:
    """The integers of the formula. ``multiplier``: int32 [channels]. ``offset``: int64 [channels]. ``negative``: int64
    [channels], or None if the result does not depend on the sign."""

    multiplier: np.ndarray
    offset: np.ndarray
    negative: np.ndarray | None
    shift: int

    def apply(self, acc: np.ndarray) -> np.ndarray:
        """Return the outputs of the formula (int64, before the clamp) for accumulators int64 [..., channels]."""
        total = acc.astype(np.int64) * self.multiplier + self.offset
        if self.negative is not None:
            total = total + np.where(acc < 0, self.negative, 0)
        return np.asarray(total >> (32 + self.shift))


@dataclass(frozen=True)
class WideLayer:
    """One int8 layer for the kernels. ``weights``: int64, shaped as in the model. ``bias``: int64 [channels], with the
    zero point folded in. ``floats`` and ``two_sided_floats``: formulas in float32, each exact for some channels.
    ``act_range``: the range of the outputs."""

    weights: np.ndarray
    bias: np.ndarray
    requant: WideRequant
    floats: FloatRequant
    two_sided_floats: FloatRequant
    act_range: tuple[int, int]


_cache: OrderedDict[tuple[int, int], tuple[Subgraph, WideLayer | None]] = OrderedDict()


def _cached(graph: Subgraph, op: Op, make: Callable[[], WideLayer | None]) -> WideLayer | None:
    """Return the layer of ``op`` from the cache, or from ``make``."""
    key = (id(graph), op.index)
    entry = _cache.get(key)
    if entry is None or entry[0] is not graph:
        entry = (graph, make())
        _cache[key] = entry
        while len(_cache) > _CACHED_LAYERS:
            _cache.popitem(last=False)
    return entry[1]


def wide_convolution(graph: Subgraph, op: Op, axis: int) -> WideLayer | None:
    """Return an int8 CONV_2D (``axis`` 0) or DEPTHWISE_CONV_2D (``axis`` 3), which ``check`` has accepted; None if its
    weights are not constant or no integers are proven exact."""
    return _cached(graph, op, lambda: _convolution(graph, op, axis))


def wide_fully_connected(graph: Subgraph, op: Op) -> WideLayer | None:
    """Return an int8 FULLY_CONNECTED with constant weights of zero point 0; None for any other layer, or if no integers
    are proven exact."""
    return _cached(graph, op, lambda: _fully_connected(graph, op))


def _convolution(graph: Subgraph, op: Op, axis: int) -> WideLayer | None:
    """Compute ``wide_convolution``, without the cache."""
    inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
    if inp.dtype != "int8" or w.data is None:
        return None
    channels = out.shape[3]
    bias = _bias(graph, op, channels)
    if bias is None:
        return None
    pairs = np.array(channel_multipliers(inp, w, out), np.int64)
    multiplier, shift = (np.resize(v, channels) for v in pairs.T)
    act = activation_range(op.options.get("fused_activation_function", 0), out)
    reach = (INTEGER_RANGE["int8"][0] - inp.zero_point, INTEGER_RANGE["int8"][1] - inp.zero_point)
    lowest, highest = accumulator_bounds(w.data, axis, bias, reach)
    steps = convolution_steps(multiplier, shift, out.zero_point, act, lowest, highest)
    if steps is None:
        return None
    real = multiplier * 2.0 ** (shift.astype(np.float64) - 31)
    others = tuple(a for a in range(4) if a != axis)
    return _layer(w.data.astype(np.int64), bias, others, inp.zero_point, steps, real, out.zero_point, act)


def _fully_connected(graph: Subgraph, op: Op) -> WideLayer | None:
    """Compute ``wide_fully_connected``, without the cache."""
    inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
    if inp.dtype != "int8" or w.data is None or weights_offset(w):
        return None
    units = w.shape[0]
    bias = _bias(graph, op, units)
    if bias is None:
        return None
    real = np.resize(real_scale(inp, w, out), units)
    act = activation_range(op.options["fused_activation_function"], out)
    bias_tensor = graph.tensors[op.input(2)] if op.input(2) >= 0 else None
    lowest, highest = accumulator_range(inp, w, bias_tensor)
    steps = fully_connected_steps(real, out.zero_point, act, lowest, highest)
    return _layer(w.data.astype(np.int64), bias, (1,), inp.zero_point, steps, real, out.zero_point, act)


def _bias(graph: Subgraph, op: Op, channels: int) -> np.ndarray | None:
    """Return the bias of each channel, zeros if there is none; None if it is computed at run time."""
    if op.input(2) < 0:
        return np.zeros(channels, np.int64)
    data = graph.tensors[op.input(2)].data
    return None if data is None else data.astype(np.int64).reshape(-1)


def _layer(
    weights: np.ndarray,
    bias: np.ndarray,
    others: tuple[int, ...],
    input_zero_point: int,
    steps: OutputSteps,
    real: np.ndarray,
    output_zero_point: int,
    act: tuple[int, int],
) -> WideLayer | None:
    """Return the layer with its zero point folded into the bias; None if no integers are proven exact. ``others`` are
    the axes of ``weights`` to sum over."""
    folded = bias - input_zero_point * weights.sum(axis=others)
    if np.any(steps.lowest < _INT32[0]) or np.any(steps.highest > _INT32[1]):
        return None
    requant = solve_wide(steps, real, output_zero_point)
    # The kernels' sums wrap around modulo 2**32, so the first value may, too.
    wrapped = wrap_int32(folded)
    if requant is None:
        return None
    floats = solve_float(steps, real, output_zero_point)
    two_sided = floats if floats.exact.all() else solve_float(steps, real, output_zero_point, two_sided=True)
    return WideLayer(weights, wrapped, requant, floats, two_sided, act)


def wrap_int32(values: np.ndarray) -> np.ndarray:
    """Return ``values`` modulo 2**32, from -2**31 to 2**31 - 1."""
    return np.asarray((values + (1 << 31)) % (1 << 32) - (1 << 31))


def solve_wide(steps: OutputSteps, real: np.ndarray, output_zero_point: int) -> WideRequant | None:
    """Return integers that give every step of every channel that an input can reach; None if there are none.

    ``real``: float64 [channels], output units per accumulator unit, as a starting point.
    """
    # Each channel's multiplier must be below 2**31; the largest one decides the shift.
    largest = float(real.max(initial=2.0**-60))
    shift = min(int(np.floor(-np.log2(largest))) - 1, _MAX_SHIFT)
    if shift < 0:
        return None
    base = np.rint(real * 2.0 ** (32 + shift)).astype(np.int64)
    lines = steps.levels.reshape(1, -1) << np.int64(32 + shift)
    usual = np.int64(2 * output_zero_point + 1) << np.int64(31 + shift)
    one_sided = _search(steps, base, lines, usual, None)
    if one_sided is not None:
        return WideRequant(one_sided[0], one_sided[1], None, shift)
    two_sided = _search(steps, base, lines, usual, True)
    if two_sided is None:
        return None
    multiplier, offset, negative = two_sided
    assert negative is not None
    return WideRequant(multiplier, offset, negative - offset, shift)


def _search(
    steps: OutputSteps, base: np.ndarray, lines: np.ndarray, usual: np.int64, two_sided: bool | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None] | None:
    """Return multiplier, offset and the offset of negative accumulators, per channel; None if a channel has none.

    ``base`` are the multipliers to try first, ``lines`` are the levels, shifted to the left like the products, and
    ``usual`` is the offset that rounds to nearest. Without ``two_sided``, the third result is None.
    """
    channels = len(base)
    chosen = np.full(channels, -1, np.int64)
    offsets = np.zeros((2, channels), np.int64)
    zero, least = np.zeros((channels, 1), np.int64), np.full((channels, 1), _INT32[0], np.int64)
    most = np.full((channels, 1), _INT32[1], np.int64)
    low, high = steps.lowest[:, None], steps.highest[:, None]
    halves = [(zero, most), (least, zero - 1)] if two_sided else [(least, most)]
    for nudge in _NUDGES:
        pending = np.flatnonzero(chosen < 0)
        if not len(pending):
            break
        multiplier = base[pending] + nudge
        good = (multiplier >= 0) & (multiplier <= _INT32[1])
        found = []
        for first, last in halves:
            begin, end = np.maximum(low, first)[pending], np.minimum(high, last)[pending]
            lower, upper = _bounds(steps.first[pending], multiplier, lines, begin, end)
            good &= lower <= upper
            # Take the usual rounding where it lies in the interval, otherwise the nearest bound.
            found.append(np.asarray(np.clip(usual, lower, np.maximum(lower, upper))))
        fits = pending[good]
        chosen[fits] = multiplier[good]
        for side, values in enumerate(found):
            offsets[side, fits] = values[good]
    if np.any(chosen < 0):
        return None
    return chosen.astype(np.int32), offsets[0], offsets[1] if two_sided else None


def _bounds(
    first: np.ndarray, multiplier: np.ndarray, lines: np.ndarray, begin: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest offset that gives every step for the accumulators from ``begin`` to ``end``.
    ``lines`` are the levels, shifted to the left like the products."""
    m = multiplier[:, None]
    at, below = np.clip(first, begin, None), np.clip(first - 1, None, end)
    at_matters, below_matters = (at <= end) & (begin <= end), (below >= begin) & (begin <= end)
    lower = np.where(at_matters, lines - np.where(at_matters, at, 0) * m, -_UNBOUNDED)
    upper = np.where(below_matters, lines - 1 - np.where(below_matters, below, 0) * m, _UNBOUNDED)
    return lower.max(axis=1, initial=-_UNBOUNDED), upper.min(axis=1, initial=_UNBOUNDED)
