"""Convert the values of a tensor to integers: to keys, which have the same order as the values, and to real values with
16 fractional bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from arenite.converters.graph.tensor import Tensor
from arenite.converters.processing.specification.input_values import Affine, _fixed
from arenite.converters.processing.specification.record_fields import record_error
from arenite.errors import UsageError

#: The fractional bits of a real value, and of the coordinates of anchors.
REAL_BITS = 16
ANCHOR_BITS = 15
#: The fractional bits of the table of 2^(k / 128).
EXP_BITS = 30
#: log2(e) with 28 fractional bits.
LOG2E = round(math.log2(math.e) * (1 << 28))
#: The largest number of boxes, points or numbers per box: post.h stores it in 16 bits.
MAX_ROWS = 65535

INT32 = (-(2**31), 2**31 - 1)
#: The codes of types in post.h, which are those of the TFLite schema's TensorType.
TYPE_CODES = {"float32": 0, "uint8": 3, "int16": 7, "int8": 9}
TYPES = tuple(TYPE_CODES)


@dataclass(frozen=True)
class TensorReader:
    """The type of a tensor, and the affine map from its values to reals with ``REAL_BITS`` fractional bits. The input
    of the map is a stored integer, or float32 with 16 fractional bits. Each channel of the map has its own factor."""

    dtype: str
    affine: Affine


def tensor_of(tensors: Sequence[Tensor], index: int, side: str) -> Tensor:
    """Return the tensor at ``index``. Raises ``UsageError`` if it does not exist or cannot be read."""
    if index >= len(tensors):
        raise record_error(
            f"Postprocessing reads {side} {index}, but the model has only {len(tensors)} (the first is {side} 0)."
        )
    tensor = tensors[index]
    quantized = tensor.quant is not None and not tensor.quant.per_axis and 0 < tensor.scale < math.inf
    if tensor.dtype not in TYPES or (tensor.dtype != "float32" and not quantized) or not tensor.elements:
        raise UsageError(
            f"Postprocessing cannot read {side} {index} '{tensor.name}', which is {tensor.dtype}.",
            "It reads float32, and int8, uint8 and int16 with one scale above 0.",
        )
    return tensor


def values_of(tensor: Tensor, *divide: float) -> TensorReader:
    """Return a reader of ``tensor``. Channel ``i`` gives the real values divided by ``divide[i]``."""
    return TensorReader(tensor.dtype, affine_of(*((tensor, 1.0 / by) for by in divide)))


def affine_of(*channels: tuple[Tensor, float]) -> Affine:
    """Return an affine map. Each (tensor, factor) is a channel, which multiplies the tensor's real values by the
    factor."""
    offsets, multipliers, shifts = [], [], []
    for tensor, factor in channels:
        is_integer = tensor.dtype != "float32"
        multiplier, shift = _fixed(tensor.scale * factor * (1 << REAL_BITS) if is_integer else factor)
        offsets.append(tensor.zero_point if is_integer else 0)
        multipliers.append(multiplier)
        shifts.append(shift)
    none = (0.0,) * len(channels)
    return Affine(tuple(offsets), tuple(multipliers), tuple(shifts), none, 0, *INT32)


def threshold_key(tensor: Tensor, threshold: float | None, logits: bool) -> int:
    """Return the smallest key (see ``keys``) of a value that reaches the threshold. With ``logits``, the threshold is a
    probability and the values are before the sigmoid."""
    if threshold is None:
        return INT32[0]
    real = math.log(threshold / (1 - threshold)) if logits else threshold
    if tensor.dtype == "float32":
        return int(keys(np.array([real], np.float32))[0])
    return max(min(math.ceil(real / tensor.scale) + tensor.zero_point, INT32[1]), INT32[0])


def keys(values: np.ndarray) -> np.ndarray:
    """Return int64 keys with the same order as ``values``.

    The key of an integer is the integer. The key of a float32 is its bit pattern, with the lower bits inverted if it is
    negative. NaN has the smallest key.
    """
    if values.dtype.kind != "f":
        return values.astype(np.int64)
    bits = values.astype(np.float32).view(np.int32).astype(np.int64)
    ordered = np.where(bits < 0, -(2**31) - bits - 1, bits)
    return np.where(np.isnan(values), INT32[0], ordered)


def floats_of_keys(values: np.ndarray) -> np.ndarray:
    """Return the float32 values whose keys are ``values``: the inverse of ``keys``."""
    bits = np.where(values < 0, -(2**31) - values - 1, values)
    return bits.astype(np.int32).view(np.float32)


def real_fixed_point(values: TensorReader, stored: np.ndarray, channel: int = 0) -> np.ndarray:
    """Return the real values of ``stored`` as int64 with ``REAL_BITS`` fractional bits, by one channel of the reader
    ``values``."""
    map = values.affine
    if stored.dtype.kind == "f":
        moved = np.trunc(np.clip(np.nan_to_num(stored), -32000, 32000).astype(np.float32) * np.float32(65536))
        moved = moved.astype(np.int64)
    else:
        moved = stored.astype(np.int64)
    moved = moved - map.offset[channel]
    scaled = (moved * map.multiplier[channel] + (1 << (map.shift[channel] - 1))) >> map.shift[channel]
    return cast(np.ndarray, np.clip(scaled, map.low, map.high))


def exp_table() -> np.ndarray:
    """Return 2^(k / 128) for k from 0 to 128: uint32 [129] with ``EXP_BITS`` fractional bits."""
    return np.round(2.0 ** (np.arange(129) / 128) * (1 << EXP_BITS)).astype(np.uint32)


def exponential(value: int) -> int:
    """Return e^value, both with ``REAL_BITS`` fractional bits. ``value`` is clipped to [-10, 10]."""
    limit = 10 << REAL_BITS
    power = (min(max(value, -limit), limit) * LOG2E) >> 28
    return _power_of_two(power) >> (EXP_BITS - REAL_BITS - (power >> REAL_BITS))


def negative_exponential(value: int) -> int:
    """Return e^-value with ``EXP_BITS`` fractional bits, or 0 for values above 20. ``value`` is at least 0 and has
    ``REAL_BITS`` fractional bits."""
    if value > 20 << REAL_BITS:
        return 0
    power = -((max(value, 0) * LOG2E + (1 << 28) - 1) >> 28)
    return _power_of_two(power) >> -(power >> REAL_BITS)


def sigmoid(value: int) -> int:
    """Return 1 / (1 + e^-value), both with ``REAL_BITS`` fractional bits."""
    return (1 << 32) // ((1 << 16) + exponential(-max(value, -(10 << REAL_BITS))))


def _power_of_two(power: int) -> int:
    """Return 2^f with ``EXP_BITS`` fractional bits, by linear interpolation in the table. f is the fractional part of
    ``power``, which has ``REAL_BITS`` fractional bits."""
    step, part = divmod(power & ((1 << REAL_BITS) - 1), 512)
    low, high = int(_TABLE[step]), int(_TABLE[step + 1])
    return low + (((high - low) * part) >> 9)


_TABLE = exp_table()
