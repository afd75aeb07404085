"""Store bias, multiplier and shift of a channel in six bytes, for firmware that must be small.

A bias rarely needs its 32 bits. The bits above it hold the upper part of the packed multiplier (see
``packed_multiplier.py``), and a 16-bit table holds the rest. Only the part of the shift that differs within the layer
is stored. A multiplier loses only bits of which ``packed_multiplier.py`` has proven that they change no output.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.quantized_arithmetic import quantize_multiplier, round_twice
from arenite.firmware.generator.requant.affine import convolution_steps, freeze_constant
from arenite.firmware.generator.requant.packed_multiplier import Shortened

#: The width of a table entry and of a word, in bits.
_TABLE_BITS, _WORD_BITS = 16, 32
#: Bits of a multiplier below its leading one.
_MULTIPLIER_BITS = 30
#: The largest width of the relative shift that fits into the kernels' field.
_MAX_SHIFT_BITS = 7
#: Numbers of bits to drop from the multipliers, in the order in which they are tried.
DROPPED_BITS = (3, 2, 1, 4, 5, 6, 7)


@dataclass(frozen=True)
class CompactChannels:
    """Channels of a layer in six bytes each.

    Attributes:
        bias: int32 [channels]. The upper ``spare`` bits of each word belong to the multiplier.
        table: uint16 [channels], the lower 16 bits of a channel's multiplier and relative shift.
        spare: the number of bits of a bias word that hold part of the multiplier.
        shift_bits: width of the relative shift, in the lowest bits of a channel's 16 + ``spare`` bits.
        shift_base: smallest shift to the right in the layer. The relative shift is added to it.
    """

    bias: np.ndarray
    table: np.ndarray
    spare: int
    shift_bits: int
    shift_base: int


def compact_channels(short: Shortened, bias: np.ndarray) -> CompactChannels | None:
    """Return shortened multipliers and int32 biases in packed form; None if six bytes per channel are not enough."""
    base = int(short.right.min())
    shift_bits = int(short.right.max() - base).bit_length()
    spare = _MULTIPLIER_BITS - short.dropped + shift_bits - _TABLE_BITS
    room = _WORD_BITS - spare
    values = bias.astype(np.int64)
    if not 1 <= spare <= _WORD_BITS - _TABLE_BITS or shift_bits > _MAX_SHIFT_BITS:
        return None
    if np.any(values < -(1 << (room - 1))) or np.any(values >= 1 << (room - 1)):
        return None
    bits = short.stored << shift_bits | (short.right - base)
    words = (bits >> _TABLE_BITS) << room | (values & ((1 << room) - 1))
    table = (bits & ((1 << _TABLE_BITS) - 1)).astype(np.uint16)
    return CompactChannels(words.astype(np.uint32).view(np.int32), table, spare, shift_bits, base)


@dataclass(frozen=True)
class LayerChannels:
    """Multiplier (int32), shift (int8), bias (int32) and weights of all channels of a layer."""

    multiplier: np.ndarray
    shift: np.ndarray
    bias: np.ndarray
    weights: np.ndarray


def replace_extreme_scales(
    channels: LayerChannels,
    axis: int,
    bounds: tuple[np.ndarray, np.ndarray],
    output_zero_point: int,
    act_range: tuple[int, int],
) -> LayerChannels | None:
    """Return the layer with a common scale and bias, and weights of zero, in each channel whose output is constant.

    Trained networks have such channels, with scales and biases far from those of the other channels. ``axis`` is the
    weights' channel axis, ``bounds`` are the lowest and highest accumulators. Returns None if the steps cannot be
    computed or the new scale does not give the same outputs.
    """
    steps = convolution_steps(channels.multiplier, channels.shift, output_zero_point, act_range, *bounds)
    if steps is None or not len(steps.levels):
        return None
    real = channels.multiplier * 2.0 ** (channels.shift.astype(np.float64) - 31)
    steps_left, frozen = freeze_constant(steps, real, output_zero_point)
    if not frozen.any():
        return channels
    usual = float(np.median(real[~frozen])) if not frozen.all() else 2.0**-8
    multiplier, shift = quantize_multiplier(usual)
    if shift > 0:
        return None
    acc = steps_left.lowest[frozen]
    output = np.clip(
        round_twice(acc, np.array(multiplier, np.int64), np.array(shift, np.int64)) + output_zero_point,
        *act_range,
    )
    below = steps.first[frozen] <= steps.lowest[frozen, None]
    if np.any(output != steps.levels[0] - 1 + below.sum(axis=1)):
        return None
    shape = [1] * channels.weights.ndim
    shape[axis] = len(frozen)
    return LayerChannels(
        np.where(frozen, multiplier, channels.multiplier).astype(np.int32),
        np.where(frozen, shift, channels.shift).astype(np.int8),
        np.where(frozen, steps_left.lowest, channels.bias).astype(np.int32),
        np.where(frozen.reshape(shape), 0, channels.weights).astype(np.int8),
    )
