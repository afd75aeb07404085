"""Compute tables of one-argument functions as TFLite's LUTPopulate does, with the same float32 steps.

Int8 tables have 256 entries, indexed by the input's byte. Int16 tables have 513 samples, 128 apart, between which the
device interpolates.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from arenite.converters.graph.model import Tensor
from arenite.firmware.generator.requant.reference_math import round_float

#: A float32 function of a float32.
Transform = Callable[[np.float32], np.float32]


def bytes_by_index(values: dict[int, int]) -> np.ndarray:
    """Return the 256 result bytes of a function, indexed by the input's byte. ``values`` maps every int8 or uint8
    input."""
    table = np.zeros(256, np.uint8)
    for x, y in values.items():
        table[x & 0xFF] = y & 0xFF
    return table


def table_int8(transform: Transform, inp: Tensor, out: Tensor) -> np.ndarray:
    """Return the 256 output bytes of ``transform`` for int8 input and output, quantized per tensor."""
    with np.errstate(all="ignore"):
        in_scale = np.float32(inp.scale)
        inverse = np.float32(1) / np.float32(out.scale)
        values = {}
        for q in range(-128, 128):
            real = transform(in_scale * np.float32(q - inp.zero_point))
            shifted = round_float(np.float32(real * inverse)) + np.float32(out.zero_point)
            values[q] = int(min(max(float(shifted), -128.0), 127.0))
    return bytes_by_index(values)


def table_int16(transform: Transform, inp: Tensor, out: Tensor) -> np.ndarray:
    """Return 513 int16 samples of ``transform`` for int16 input and output with zero point 0.

    Each sample is shifted by half of the interpolation error in the middle of its interval.
    """
    with np.errstate(all="ignore"):
        in_scale, out_scale = np.float32(inp.scale), np.float32(out.scale)
        first, last = in_scale * np.float32(-32768), in_scale * np.float32(32767)
        step = (last - first) / np.float32(512)
        half = step / np.float32(2)
        inverse = np.float32(65536) / (out_scale * np.float32(32767) - out_scale * np.float32(-32768))
        samples = []
        for i in range(512):
            at = first + np.float32(i) * step
            sample = round_float(transform(at) * inverse)
            middle = round_float(transform(at + half) * inverse)
            following = transform(first + np.float32(i + 1) * step)
            interpolated = round_float((following * inverse + sample) / np.float32(2))
            bias = round_float((interpolated - middle) / np.float32(2))
            samples.append(_clamp_int16(sample - bias))
        samples.append(_clamp_int16(round_float(transform(last) * inverse)))
    return np.array(samples, np.int16)


def _clamp_int16(x: np.float32) -> int:
    """Return ``x`` clamped to int16. NaN (infinity minus infinity) becomes 0, the low half of the result of x86's
    conversion."""
    if math.isnan(x):
        return 0
    return int(min(max(float(x), -32768.0), 32767.0))


def sigmoid_table() -> np.ndarray:
    """Return 256 uint16 samples: sigmoid(i / 24) with 16 fractional bits, for linear interpolation.

    Each sample is raised by half of the largest error of the chord (h**2 / 8 times the second derivative), so that
    the error is spread evenly. The last sample is the limit of the sigmoid.
    """
    step = 1 / 24
    table = np.full(256, 65535, np.uint16)
    for i in range(255):
        s = 1 / (1 + math.exp(-i * step))
        curvature = s * (1 - s) * (1 - 2 * s)
        table[i] = round(65536 * (s - curvature * step**2 / 16))
    return table
