"""The map from a pixel value or a feature to the value of the model's input: normalize and quantize in one step.

A byte has only 256 values, so a table of the results of the training pipeline's float32 arithmetic is exact. For values
with fractional bits the map is affine in integers: stored = (value - offset) * multiplier >> shift. For a float32 input
it is one product of float32, which IEEE 754 rounds in the same way on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from arenite.converters.graph.quantized_arithmetic import INTEGER_RANGE
from arenite.converters.processing.specification.preprocessing import Normalize, Preprocessing
from arenite.converters.processing.specification.record_fields import record_error

#: The fractional bits of a value that was not rounded to a byte.
FRACTION_BITS = 16
#: The size of one element of the model's input in bytes, by type.
ELEMENT_BYTES = {"int8": 1, "uint8": 1, "int16": 2, "float32": 4}


@dataclass(frozen=True)
class Affine:
    """An affine map. The tuples have one value per channel, or one for all channels. ``offset`` has 16 fractional
    bits. ``low`` and ``high`` are the limits of the result."""

    offset: tuple[int, ...]
    multiplier: tuple[int, ...]
    shift: tuple[int, ...]
    step: tuple[float, ...]  # float32: the real value of one unit of the fraction; used for a float32 input
    zero_point: int
    low: int
    high: int


def result_type(spec: Preprocessing) -> str:
    """Return the type of the model's input."""
    return "float32" if spec.quantize_step is None else spec.quantize_step.dtype


def normalize_step_of(spec: Preprocessing) -> Normalize:
    """Return the normalize step of ``spec``. Without such a step, return one that changes nothing."""
    return next((s for s in spec.steps if isinstance(s, Normalize)), Normalize())


def channel_parameters(spec: Preprocessing, channels: int) -> list[tuple[float, float]]:
    """Return (mean, std) for each channel, or one pair for all channels."""
    step = normalize_step_of(spec)
    count = max(len(step.mean), len(step.std))
    if count not in (1, channels):
        raise record_error(
            f"Normalise has {count} means or stds, but there are {channels} channels at this point."
        )
    means, stds = (v if len(v) == count else v * count for v in (step.mean, step.std))
    return list(zip(means, stds, strict=True))


def normalized_values(spec: Preprocessing, values: np.ndarray, mean: float, std: float) -> np.ndarray:
    """Apply the normalize step with the float32 arithmetic of a training pipeline."""
    f = np.float32
    return (values.astype(f) / f(normalize_step_of(spec).divide) - f(mean)) / f(std)


def quantized_values(spec: Preprocessing, real: np.ndarray) -> np.ndarray:
    """Apply the quantize step. Ties are rounded away from zero, as in LiteRT."""
    q = spec.quantize_step
    if q is None:
        return real.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):  # values out of range are clipped at the end
        steps = real.astype(np.float32) / np.float32(q.scale)
        integers = np.trunc(steps)
        rest = steps - integers
    rounded = integers.astype(np.float64) + (rest >= 0.5) - (rest <= -0.5) + q.zero_point
    low, high = INTEGER_RANGE[q.dtype]
    return cast(np.ndarray, np.clip(rounded, low, high).astype(q.dtype))


def tables(spec: Preprocessing, channels: int) -> np.ndarray:
    """Return the model's input for each byte value: an array [1 or channels, 256] of ``result_type``."""
    values = np.arange(256)
    rows = [
        quantized_values(spec, normalized_values(spec, values, m, s))
        for m, s in channel_parameters(spec, channels)
    ]
    return np.stack(rows)


def affine(spec: Preprocessing, channels: int) -> Affine:
    """Return the affine map for values with ``FRACTION_BITS`` fractional bits."""
    divide = normalize_step_of(spec).divide
    q = spec.quantize_step
    offsets, multipliers, shifts, steps = [], [], [], []
    for mean, std in channel_parameters(spec, channels):
        offsets.append(_check_range(round(mean * divide * (1 << FRACTION_BITS)), "mean"))
        step = 1.0 / (divide * std * (1 << FRACTION_BITS))
        steps.append(float(np.float32(step)))
        multiplier, shift = (1 << 30, 30) if q is None else _fixed(step / q.scale)
        multipliers.append(multiplier)
        shifts.append(shift)
    low, high = INTEGER_RANGE[q.dtype] if q is not None else (0, 0)
    zero = q.zero_point if q is not None else 0
    return Affine(tuple(offsets), tuple(multipliers), tuple(shifts), tuple(steps), zero, low, high)


def _check_range(value: int, name: str) -> int:
    if abs(value) >= 1 << 30:
        raise record_error(f"Normalise: the {name} is too far from the values that it is subtracted from.")
    return value


def _fixed(real: float) -> tuple[int, int]:
    """Return (multiplier, shift) with ``real`` = multiplier / 2^shift and the multiplier in [2^30, 2^31)."""
    shift = 0
    mantissa = real
    while 0 < mantissa < 1 << 30 and shift <= 62:
        mantissa, shift = mantissa * 2, shift + 1
    multiplier = round(mantissa) if 0 < mantissa < 1 << 31 else 0  # 0 raises the error below
    if multiplier == 1 << 31:
        multiplier, shift = 1 << 30, shift - 1
    if not 1 <= shift <= 62 or not multiplier:
        raise record_error("The scales of normalise and quantise differ too much to combine the two steps.")
    return multiplier, shift


def apply_affine(spec: Preprocessing, map: Affine, values: np.ndarray) -> np.ndarray:
    """Apply ``map`` to int64 ``values`` [..., channels] with ``FRACTION_BITS`` fractional bits. The result has the type
    of the model's input."""
    moved = values.astype(np.int64) - np.array(map.offset, np.int64)
    if spec.quantize_step is None:
        return moved.astype(np.float32) * np.array(map.step, np.float32)
    shift = np.array(map.shift, np.int64)
    scaled = (moved * np.array(map.multiplier, np.int64) + (np.int64(1) << (shift - 1))) >> shift
    clipped = np.clip(scaled + map.zero_point, map.low, map.high)
    return cast(np.ndarray, clipped.astype(spec.quantize_step.dtype))
