"""Convert layers to the form of the fast kernels: zero points are folded into biases, and the requantization is one
multiply-add that is proven exact (see ``affine.py``).

A sum over ``w * (x - zero_point)`` equals a sum over ``w * x`` if ``zero_point * sum(w)`` is subtracted from the bias
and padding has the value of the zero point. So kernels multiply raw bytes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import INTEGER_RANGE, activation_range
from arenite.firmware.generator.requant.affine import (
    AffineRequant,
    OutputSteps,
    convolution_steps,
    freeze_constant,
    fully_connected_steps,
    solve,
    twice_rounded_offset,
)
from arenite.firmware.generator.requant.layer_scales import (
    accumulator_range,
    channel_multipliers,
    real_scale,
    weights_offset,
)
from arenite.firmware.generator.requant.packed_multiplier import accumulator_bounds

#: Number of layers that are cached, because several methods of a lowering need the same layer.
_CACHED_LAYERS = 512
_INT8 = INTEGER_RANGE["int8"]


@dataclass(frozen=True)
class FoldedLayer:
    """One int8 layer, ready for a fast kernel.

    ``weights``: int64, shaped as in the model; all zero for a channel whose output is constant.
    ``bias``: int64 [channels], with the zero point folded in. For a one-sided ``requant`` it also contains the whole
    units of the offset, so ``requant.offset`` is below ``2**scale``.
    ``steps``: the steps of the exact function, over the accumulator without the offset.
    ``act_range``: clamp of the fused activation.
    """

    weights: np.ndarray
    bias: np.ndarray
    requant: AffineRequant
    steps: OutputSteps
    input_zero_point: int
    output_zero_point: int
    act_range: tuple[int, int]

    @property
    def clamps(self) -> bool:
        """Whether ``act_range`` is narrower than int8."""
        return self.act_range != _INT8


_cache: OrderedDict[tuple[int, int, int, bool], tuple[Subgraph, FoldedLayer | None]] = OrderedDict()


def fold_convolution(
    graph: Subgraph, op: Op, axis: int, scale: int = 8, *, two_sided: bool = False
) -> FoldedLayer | None:
    """Return an int8 CONV_2D (``axis`` 0) or DEPTHWISE_CONV_2D (``axis`` 3), which ``check`` has accepted, as a folded
    layer.

    ``scale`` is the left shift of the accumulator in the kernel. ``two_sided`` requires a two-sided requantization;
    otherwise it is one-sided if possible. Returns None if there is no proven requantization at ``scale``, or the
    weights are not constant.
    """
    return _cached(
        graph, op, (scale, two_sided), lambda: _fold_convolution(graph, op, axis, scale, two_sided)
    )


def fold_fully_connected(graph: Subgraph, op: Op, scale: int = 8) -> FoldedLayer | None:
    """Return an int8 FULLY_CONNECTED with constant weights of zero point 0 as a folded layer.

    ``scale`` is the left shift of the accumulator in the kernel. Returns None for any other layer, or if there is no
    proven requantization at ``scale``.
    """
    return _cached(graph, op, (scale, False), lambda: _fold_fully_connected(graph, op, scale))


def _cached(
    graph: Subgraph, op: Op, form: tuple[int, bool], fold: Callable[[], FoldedLayer | None]
) -> FoldedLayer | None:
    """Return the folded layer of ``op`` from the cache, or from ``fold``. ``form`` is (scale, whether two-sided)."""
    key = (id(graph), op.index, *form)
    entry = _cache.get(key)
    if entry is not None and entry[0] is graph:
        return entry[1]
    layer = fold()
    _cache[key] = (graph, layer)
    while len(_cache) > _CACHED_LAYERS:
        _cache.popitem(last=False)
    return layer


def _fold_convolution(graph: Subgraph, op: Op, axis: int, scale: int, two_sided: bool) -> FoldedLayer | None:
    """Compute ``fold_convolution``, without the cache."""
    inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
    if inp.dtype != "int8" or w.data is None:
        return None
    channels = out.shape[3]
    bias = _bias(graph, op, channels)
    pairs = np.array(channel_multipliers(inp, w, out), np.int64)
    multiplier, shift = (np.resize(v, channels) for v in pairs.T)
    act = activation_range(op.options.get("fused_activation_function", 0), out)
    reach = (_INT8[0] - inp.zero_point, _INT8[1] - inp.zero_point)
    lowest, highest = accumulator_bounds(w.data, axis, bias, reach)
    steps = convolution_steps(multiplier, shift, out.zero_point, act, lowest, highest)
    real = multiplier * 2.0 ** (shift.astype(np.float64) - 31)
    others = tuple(a for a in range(4) if a != axis)
    shape = [1, 1, 1, 1]
    shape[axis] = channels
    return _finish(
        steps,
        real,
        twice_rounded_offset(multiplier),
        w.data.astype(np.int64),
        bias,
        others,
        tuple(shape),
        (inp.zero_point, out.zero_point),
        act,
        scale,
        (True,) if two_sided else (False, True),
    )


def _fold_fully_connected(graph: Subgraph, op: Op, scale: int) -> FoldedLayer | None:
    """Compute ``fold_fully_connected``, without the cache."""
    inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
    if inp.dtype != "int8" or w.data is None or weights_offset(w):
        return None
    units = w.shape[0]
    bias = _bias(graph, op, units)
    real = np.resize(real_scale(inp, w, out), units)
    act = activation_range(op.options["fused_activation_function"], out)
    bias_tensor = graph.tensors[op.input(2)] if op.input(2) >= 0 else None
    lowest, highest = accumulator_range(inp, w, bias_tensor)
    steps = fully_connected_steps(real, out.zero_point, act, lowest, highest)
    return _finish(
        steps,
        real,
        np.zeros(units),
        w.data.astype(np.int64),
        bias,
        (1,),
        (units, 1),
        (inp.zero_point, out.zero_point),
        act,
        scale,
    )


def _bias(graph: Subgraph, op: Op, channels: int) -> np.ndarray:
    tensor = graph.tensors[op.input(2)] if op.input(2) >= 0 else None
    if tensor is None or tensor.data is None:
        return np.zeros(channels, np.int64)
    return tensor.data.astype(np.int64).reshape(-1)


def _finish(
    steps: OutputSteps | None,
    real: np.ndarray,
    offset: np.ndarray,
    weights: np.ndarray,
    bias: np.ndarray,
    others: tuple[int, ...],
    channel_shape: tuple[int, ...],
    zero_points: tuple[int, int],
    act: tuple[int, int],
    scale: int,
    sides: tuple[bool, ...] = (False, True),
) -> FoldedLayer | None:
    """Freeze constant channels, solve the requantization, and fold the zero point. ``others`` are the axes of
    ``weights`` to sum over."""
    if steps is None:
        return None
    steps, frozen = freeze_constant(steps, real, zero_points[1])
    requant = solve(steps, real, offset, zero_points[1], scale, sides)
    if requant is None:
        return None
    weights = np.where(frozen.reshape(channel_shape), 0, weights)
    bias = np.where(frozen, steps.lowest, bias) - zero_points[0] * weights.sum(axis=others)
    if not requant.two_sided:
        bias = bias + (requant.offset >> scale)
        requant = replace(requant, offset=requant.offset & ((1 << scale) - 1))
    return FoldedLayer(weights, bias, requant, steps, *zero_points, act)
