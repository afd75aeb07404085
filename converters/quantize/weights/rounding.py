"""Round weights so that the output of the layer is as close as possible to its output in the float model. (Rounding
each weight to the nearest integer does not achieve this.)

Weights are rounded one input after the other. The weights of the remaining inputs compensate for the error as far as
these inputs are correlated. Source: E. Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative
Pre-trained Transformers", ICLR 2023.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.quantize.weights.input_moments import InputMoments
from arenite.converters.quantize.weights.integer_weights import MAX_MAGNITUDE, QuantizedWeights

#: The share of the mean second moment that is added to the diagonal, so that the matrix has an inverse.
_DAMPING = 0.01

#: The factors by which a row's scale is multiplied to try other scales.
_SCALE_FACTORS = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 1.05, 1.1)
#: Factors other than 1 are tried only if (number of weights) * (weights per output) is at most this number.
_MAX_SEARCH_WORK = 3e8


def round_for_output(weights: np.ndarray, start: QuantizedWeights, moments: InputMoments) -> QuantizedWeights:
    """Round ``weights`` again to minimize the error of the layer's output. ``start`` has the nearest integers.

    If ``start`` has one scale per channel, other scales near it are tried. Rows that ``start`` represents exactly do
    not change.
    """
    depthwise = len(moments.matrix) > 1 or start.axis == weights.ndim - 1
    rows = _to_groups(weights, depthwise, len(moments.matrix)).astype(np.float64)
    nearest = _to_groups(start.values, depthwise, len(moments.matrix)).astype(np.float64)
    per_row = start.scale.size > 1
    scale = np.broadcast_to(
        start.scale.astype(np.float64).reshape(len(moments.matrix), -1) if per_row else start.scale[0],
        rows.shape[:2],
    )
    limit = MAX_MAGNITUDE[start.dtype]
    h = moments.matrix
    input_order = _input_order(h)
    best, best_scale = nearest, scale.copy()
    min_error = _error(rows, best * best_scale[..., None], h)
    try_scales = per_row and rows.size * rows.shape[2] <= _MAX_SEARCH_WORK
    for share in _SCALE_FACTORS if try_scales else (1.0,):
        tried = (scale * share).astype(np.float32).astype(np.float64)
        quantized = _round_with_compensation(rows, tried, input_order, limit)
        error = _error(rows, quantized * tried[..., None], h)
        better = error < min_error
        min_error = np.where(better, error, min_error)
        best = np.where(better[..., None], quantized, best)
        best_scale = np.where(better, tried, best_scale)
    values = _from_groups(best, weights.shape, depthwise).astype(np.int8)
    new_scale = best_scale.reshape(-1).astype(np.float32) if per_row else start.scale
    return QuantizedWeights(values, new_scale, start.axis, start.dtype)


def _to_groups(weights: np.ndarray, depthwise: bool, groups: int) -> np.ndarray:
    """Return weights in the shape [groups, outputs of the group, inputs]."""
    if not depthwise:
        return weights.reshape(1, weights.shape[0], -1)
    flat = weights.reshape(-1, groups, weights.shape[-1] // groups)
    return np.ascontiguousarray(flat.transpose(1, 2, 0))


def _from_groups(rows: np.ndarray, shape: tuple[int, ...], depthwise: bool) -> np.ndarray:
    """Return the result of ``_to_groups`` in the original ``shape``."""
    return np.ascontiguousarray(rows.transpose(2, 0, 1) if depthwise else rows).reshape(shape)


def _error(rows: np.ndarray, quantized: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return the squared error of each output: [groups, outputs]. ``h`` has the second moments of the inputs."""
    difference = rows - quantized
    return np.asarray(np.einsum("gok,gok->go", difference @ h, difference))


@dataclass(frozen=True)
class _InputOrder:
    """The order in which the inputs of each group are rounded, and the factors by which the error of an input is passed
    on to later inputs."""

    order: np.ndarray  # int [groups, inputs]: the most important input first; later inputs compensate
    upper: np.ndarray  # float64 [groups, inputs, inputs]: shares of an input's error for later inputs


def _input_order(h: np.ndarray) -> _InputOrder:
    """Return the order for the second moments ``h``: inputs with the largest mean square first."""
    power = np.diagonal(h, axis1=1, axis2=2)
    order = np.argsort(-power, axis=1, kind="stable")
    matrix = np.take_along_axis(h, order[:, :, None], axis=1)
    matrix = np.take_along_axis(matrix, order[:, None, :], axis=2)
    damping = _DAMPING * power.mean(axis=1) + 1e-12
    matrix = matrix + damping[:, None, None] * np.eye(h.shape[1])
    return _InputOrder(order, np.linalg.cholesky(np.linalg.inv(matrix)).transpose(0, 2, 1))


def _round_with_compensation(
    rows: np.ndarray, scale: np.ndarray, input_order: _InputOrder, limit: int
) -> np.ndarray:
    """Return ``rows`` as integers (float64) in steps of ``scale``. The error of each input is passed on to later
    inputs."""
    work = np.take_along_axis(rows, input_order.order[:, None, :], axis=2)
    out = np.empty_like(work)
    for k in range(work.shape[2]):
        steps = np.clip(np.rint(work[:, :, k] / scale), -limit, limit)
        out[:, :, k] = steps
        error = (work[:, :, k] - steps * scale) / input_order.upper[:, k, k][:, None]
        work[:, :, k + 1 :] -= error[:, :, None] * input_order.upper[:, None, k, k + 1 :]
    back = np.argsort(input_order.order, axis=1, kind="stable")
    return np.take_along_axis(out, back[:, None, :], axis=2)
