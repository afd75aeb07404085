"""Round weights so that the layer's output, not each weight, is nearest to the float one.

Weights are rounded one input after the other; the weights of the remaining inputs compensate for the error as far as
those inputs are correlated. Source: E. Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative
Pre-trained Transformers", ICLR 2023.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.quantize.weights.input_moments import InputMoments
from arenite.converters.quantize.weights.integer_weights import LARGEST, QuantizedWeights

#: Share of the mean second moment that is added to each, so that the matrix has an inverse.
_DAMPING = 0.01

#: Shares of a row's scale that are tried, and the largest layer for which they are.
_SHARES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 1.05, 1.1)
_SEARCH_WORK = 3e8


def round_for_output(weights: np.ndarray, start: QuantizedWeights, moments: InputMoments) -> QuantizedWeights:
    """``start``, the nearest integers of ``weights``, rounded again for the least error of the layer's output.

    Scales per channel are searched again around those of ``start``. Rows that ``start`` holds exactly stay as they are.
    """
    depthwise = len(moments.matrix) > 1 or start.axis == weights.ndim - 1
    rows = _to_groups(weights, depthwise, len(moments.matrix)).astype(np.float64)
    nearest = _to_groups(start.values, depthwise, len(moments.matrix)).astype(np.float64)
    per_row = start.scale.size > 1
    scale = np.broadcast_to(
        start.scale.astype(np.float64).reshape(len(moments.matrix), -1) if per_row else start.scale[0],
        rows.shape[:2],
    )
    limit = LARGEST[start.dtype]
    h = moments.matrix
    given = _ordered(h)
    best, best_scale = nearest, scale.copy()
    least = _error(rows, best * best_scale[..., None], h)
    searched = per_row and rows.size * rows.shape[2] <= _SEARCH_WORK
    for share in _SHARES if searched else (1.0,):
        tried = (scale * share).astype(np.float32).astype(np.float64)
        quantized = _compensated(rows, tried, given, limit)
        error = _error(rows, quantized * tried[..., None], h)
        better = error < least
        least = np.where(better, error, least)
        best = np.where(better[..., None], quantized, best)
        best_scale = np.where(better, tried, best_scale)
    values = _from_groups(best, weights.shape, depthwise).astype(np.int8)
    new_scale = best_scale.reshape(-1).astype(np.float32) if per_row else start.scale
    return QuantizedWeights(values, new_scale, start.axis, start.dtype)


def _to_groups(weights: np.ndarray, depthwise: bool, groups: int) -> np.ndarray:
    """[groups, outputs of the group, inputs]."""
    if not depthwise:
        return weights.reshape(1, weights.shape[0], -1)
    flat = weights.reshape(-1, groups, weights.shape[-1] // groups)
    return np.ascontiguousarray(flat.transpose(1, 2, 0))


def _from_groups(rows: np.ndarray, shape: tuple[int, ...], depthwise: bool) -> np.ndarray:
    return np.ascontiguousarray(rows.transpose(2, 0, 1) if depthwise else rows).reshape(shape)


def _error(rows: np.ndarray, quantized: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Squared error of each output: [groups, outputs]."""
    off = rows - quantized
    value: np.ndarray = np.einsum("gok,gok->go", off @ h, off)
    return value


@dataclass(frozen=True)
class _Order:
    """The factors of the moments that rounding one input after the other uses, for each group."""

    order: np.ndarray  # int [groups, inputs]: the most important first, while others can still compensate
    upper: (
        np.ndarray
    )  # float64 [groups, inputs, inputs]: shares of an input's error passed on to later inputs


def _ordered(h: np.ndarray) -> _Order:
    power = np.diagonal(h, axis1=1, axis2=2)
    order = np.argsort(-power, axis=1, kind="stable")
    matrix = np.take_along_axis(h, order[:, :, None], axis=1)
    matrix = np.take_along_axis(matrix, order[:, None, :], axis=2)
    damping = _DAMPING * power.mean(axis=1) + 1e-12
    matrix = matrix + damping[:, None, None] * np.eye(h.shape[1])
    return _Order(order, np.linalg.cholesky(np.linalg.inv(matrix)).transpose(0, 2, 1))


def _compensated(rows: np.ndarray, scale: np.ndarray, given: _Order, limit: int) -> np.ndarray:
    """Return the integers (as float64) of ``rows`` in steps of ``scale``, each input's error passed on to those after
    it."""
    work = np.take_along_axis(rows, given.order[:, None, :], axis=2)
    out = np.empty_like(work)
    for k in range(work.shape[2]):
        steps = np.clip(np.rint(work[:, :, k] / scale), -limit, limit)
        out[:, :, k] = steps
        off = (work[:, :, k] - steps * scale) / given.upper[:, k, k][:, None]
        work[:, :, k + 1 :] -= off[:, :, None] * given.upper[:, None, k, k + 1 :]
    back = np.argsort(given.order, axis=1, kind="stable")
    return np.take_along_axis(out, back[:, None, :], axis=2)
