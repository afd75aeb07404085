"""Choose the scales and integer values of weights: symmetric, per output channel or per tensor.

int8 weights are from -127 to 127 and int4 weights from -7 to 7, as TFLite's specification requires for symmetric
quantization.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from arenite.converters.tflite.int4 import pack_int4_weights

#: The largest magnitude of each type.
MAX_MAGNITUDE = {"int8": 127, "int4": 7}

#: The ranges that the method "mse" tries, as shares of the largest weight.
_SHARES = np.linspace(1.0, 0.4, 61)

#: A weight counts as a multiple of a scale if it is closer than this to a multiple, in steps of the scale.
_GRID_TOLERANCE = 1e-3


@dataclass(frozen=True)
class QuantizedWeights:
    """Integer weights in the shape of the float weights. ``scale`` is float32 [channels of ``axis``], or [1] for all
    weights."""

    values: np.ndarray  # int8
    scale: np.ndarray
    axis: int
    dtype: str  # int8 or int4

    def real(self) -> np.ndarray:
        """Return the real values of the weights as float32."""
        scale = reshape_along(self.scale, self.axis, self.values.ndim)
        return cast(np.ndarray, self.values.astype(np.float32) * scale)

    def stored(self) -> np.ndarray:
        """Return the data of a tensor with these weights: int8 values, or for int4 the bytes in the file."""
        return pack_int4_weights(self.values) if self.dtype == "int4" else self.values


def reshape_along(scale: np.ndarray, axis: int, rank: int) -> np.ndarray:
    """Return ``scale`` in a shape that multiplies an array of ``rank`` dimensions along ``axis``."""
    shape = [1] * rank
    shape[axis] = scale.size
    return scale.reshape(shape)


def quantize_weights(
    weights: np.ndarray, axis: int, dtype: str, *, per_channel: bool, scale_method: str
) -> QuantizedWeights:
    """Round ``weights`` to the nearest integers. ``scale_method`` is the recipe's ``weight_scale``."""
    rows = _rows(weights, axis) if per_channel else weights.reshape(1, -1)
    scale = choose_scales(rows, dtype, scale_method)
    return QuantizedWeights(to_integers(weights, scale, axis, dtype), scale, axis, dtype)


def to_integers(weights: np.ndarray, scale: np.ndarray, axis: int, dtype: str) -> np.ndarray:
    """Return ``weights`` in steps of ``scale``, rounded to nearest and clipped, as int8."""
    limit = MAX_MAGNITUDE[dtype]
    steps = weights.astype(np.float64) / reshape_along(scale.astype(np.float64), axis, weights.ndim)
    return cast(np.ndarray, np.clip(np.rint(steps), -limit, limit).astype(np.int8))


def choose_scales(rows: np.ndarray, dtype: str, method: str) -> np.ndarray:
    """Return one scale per row of weights: float32 [rows].

    If all weights of a row are already multiples of a scale (because they were quantized before or trained with
    quantization), the row gets this scale and quantization has no error. Otherwise the method "max" chooses the
    scale by the largest weight, and "mse" also tries smaller scales to minimize the squared error. A row of zeros
    gets the largest scale.
    """
    limit = MAX_MAGNITUDE[dtype]
    rows = rows.astype(np.float64)
    top = np.abs(rows).max(axis=1) if rows.shape[1] else np.zeros(len(rows))
    scale = top / limit
    if method == "mse":
        scale = _least_error_scales(rows, top, limit)
    grid = _exact_scales(rows, top, limit)
    scale = np.where(grid > 0, grid, scale)
    largest_scale = scale.max() if scale.size and scale.max() > 0 else 1.0
    # The scale of a row with very small weights is limited, because its bias would need more than 32 bits.
    return np.maximum(np.where(scale > 0, scale, largest_scale), max(largest_scale * 1e-9, 1e-30)).astype(
        np.float32
    )


def _least_error_scales(rows: np.ndarray, top: np.ndarray, limit: int) -> np.ndarray:
    """Return the scale with the smallest squared error for each row. ``top`` has the largest magnitude of each row."""
    best = np.full(len(rows), np.inf)
    scale = top / limit
    for share in _SHARES:
        tried = np.where(top > 0, top / limit * share, 1.0)
        steps = np.clip(np.rint(rows / tried[:, None]), -limit, limit) * tried[:, None]
        error = ((rows - steps) ** 2).sum(axis=1)
        better = error < best
        best, scale = np.where(better, error, best), np.where(better, tried, scale)
    return scale


def _exact_scales(rows: np.ndarray, top: np.ndarray, limit: int) -> np.ndarray:
    """Return the largest scale of which every weight of a row is a multiple, or 0 for rows without such a scale."""
    grid_scales = np.zeros(len(rows))
    if rows.shape[1] < 4:  # fewer than 4 numbers may be multiples of a scale by accident
        return grid_scales
    open_rows = np.flatnonzero(top > 0)
    for steps in range(1, limit + 1):
        if not open_rows.size:
            break
        tried = top[open_rows] / steps
        quotients = rows[open_rows] / tried[:, None]
        fits = np.abs(quotients - np.rint(quotients)).max(axis=1) < _GRID_TOLERANCE
        grid_scales[open_rows[fits]] = tried[fits]
        open_rows = open_rows[~fits]
    return grid_scales


def _rows(weights: np.ndarray, axis: int) -> np.ndarray:
    """Return weights as [channels of ``axis``, weights per channel]."""
    return np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1)


def quantize_bias(bias: np.ndarray, scale: np.ndarray, dtype: str) -> np.ndarray:
    """Return ``bias`` in steps of ``scale`` (float64, [1] or one scale per channel) as int32 or int64, clipped to
    the range of the kernels."""
    # LiteRT's int16 kernels reduce 64-bit sums with 48-bit arithmetic.
    limit = 2**31 - 1 if dtype == "int32" else 2**46
    steps = np.rint(bias.astype(np.float64) / scale)
    return cast(np.ndarray, np.clip(steps, -limit, limit).astype(np.int32 if dtype == "int32" else np.int64))


def sqnr_db(exact: np.ndarray, approximate: np.ndarray) -> float:
    """Return the signal-to-quantization-noise ratio in dB. It is infinite without noise and 0 without a signal."""
    signal = float(np.sum(exact.astype(np.float64) ** 2))
    noise = float(np.sum((exact.astype(np.float64) - approximate) ** 2))
    if noise == 0:
        return float("inf")
    return 10 * float(np.log10(signal / noise)) if signal else 0.0
