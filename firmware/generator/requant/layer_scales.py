"""Compute the scales, multipliers and accumulator ranges of a layer from its tensors alone."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Tensor
from arenite.converters.graph.quantized_arithmetic import INTEGER_RANGE, quantize_multiplier


def channel_multipliers(inp: Tensor, weights: Tensor, out: Tensor) -> list[tuple[int, int]]:
    """Return multiplier and shift for each scale of the weights: input scale * weight scale / output scale."""
    assert weights.quant is not None
    return [quantize_multiplier(inp.scale * s / out.scale) for s in weights.quant.scale]


def weights_offset(w: Tensor) -> int:
    """Return the number that is added to every weight: minus the zero point."""
    assert w.quant is not None
    return 0 if w.quant.per_axis else -w.zero_point


def real_scale(inp: Tensor, w: Tensor, out: Tensor) -> np.ndarray:
    """Return input scale * weight scale / output scale in double precision, one per scale of the weights."""
    assert w.quant is not None
    return np.array([inp.scale * s / out.scale for s in w.quant.scale])


def accumulator_range(inp: Tensor, w: Tensor, bias: Tensor | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest sum of each unit for any input, bias included: int64 [units] each."""
    low, high = (v - inp.zero_point for v in INTEGER_RANGE[inp.dtype])
    units, depth = w.shape
    if w.data is not None:
        values = w.data.astype(np.int64) + weights_offset(w)
        lowest = np.minimum(values * low, values * high).sum(axis=1)
        highest = np.maximum(values * low, values * high).sum(axis=1)
    else:
        corners = [(v + weights_offset(w)) * x for v in INTEGER_RANGE["int8"] for x in (low, high)]
        lowest = np.full(units, min(corners) * depth, np.int64)
        highest = np.full(units, max(corners) * depth, np.int64)
    if bias is not None and bias.data is not None:
        # Sums without the bias occur as intermediate results, so they count too.
        values = bias.data.astype(np.int64)
        lowest, highest = lowest + np.minimum(values, 0), highest + np.maximum(values, 0)
    return lowest, highest
