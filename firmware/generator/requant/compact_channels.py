"""Bias, multiplier and shift of a channel in six bytes, for firmware that must be small.

A bias rarely needs its 32 bits. The bits above it hold the upper part of the packed multiplier (see
``packed_multiplier.py``), a 16-bit table the rest; of the shift only what differs within the layer is stored. No
multiplier loses more bits than that module has proven not to matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.quantized_arithmetic import quantize_multiplier, round_twice
from arenite.firmware.generator.requant.affine import convolution_steps, freeze_constant
from arenite.firmware.generator.requant.packed_multiplier import Shortened

#: Bits of a table entry, and of a word.
_TABLE, _WORD = 16, 32
#: Bits of a multiplier below its leading one.
_MULTIPLIER = 30
#: Most bits of relative shift that the kernels' field can name.
_MAX_SHIFT_BITS = 7
#: Numbers of bits that may be dropped from the multipliers, in the order in which they are tried.
DROPPED_BITS = (3, 2, 1, 4, 5, 6, 7)


@dataclass(frozen=True)
class CompactChannels:
    """``bias``: int32, each with ``spare`` foreign bits on top. ``table``: uint16. ``shift_base``: the layer's smallest
    shift to the right, to which the last ``shift_bits`` of a channel's 16 + ``spare`` bits are added."""

    bias: np.ndarray
    table: np.ndarray
    spare: int
    shift_bits: int
    shift_base: int


def compact_channels(short: Shortened, bias: np.ndarray) -> CompactChannels | None:
    """From shortened multipliers and int32 biases; None where six bytes are too few."""
    base = int(short.right.min())
    shift_bits = int(short.right.max() - base).bit_length()
    spare = _MULTIPLIER - short.dropped + shift_bits - _TABLE
    room = _WORD - spare
    values = bias.astype(np.int64)
    if not 1 <= spare <= _WORD - _TABLE or shift_bits > _MAX_SHIFT_BITS:
        return None
    if np.any(values < -(1 << (room - 1))) or np.any(values >= 1 << (room - 1)):
        return None
    bits = short.stored << shift_bits | (short.right - base)
    filled = (bits >> _TABLE) << room | (values & ((1 << room) - 1))
    table = (bits & ((1 << _TABLE) - 1)).astype(np.uint16)
    return CompactChannels(filled.astype(np.uint32).view(np.int32), table, spare, shift_bits, base)


@dataclass(frozen=True)
class LayerChannels:
    """Multiplier (int32), shift (int8), bias (int32) and weights of all channels of a layer."""

    multiplier: np.ndarray
    shift: np.ndarray
    bias: np.ndarray
    weights: np.ndarray


def replace_extreme_scales(
    given: LayerChannels,
    axis: int,
    bounds: tuple[np.ndarray, np.ndarray],
    output_zero_point: int,
    act_range: tuple[int, int],
) -> LayerChannels | None:
    """The layer with a usual scale and bias, and no weights, in each channel whose output nothing changes.

    Trained networks have such channels, with scales and biases far from the others'. ``axis`` is the weights' channel
    axis, ``bounds`` are those of the accumulators. None where steps have no proof.
    """
    steps = convolution_steps(given.multiplier, given.shift, output_zero_point, act_range, *bounds)
    if steps is None or not len(steps.levels):
        return None
    real = given.multiplier * 2.0 ** (given.shift.astype(np.float64) - 31)
    steps_left, frozen = freeze_constant(steps, real, output_zero_point)
    if not frozen.any():
        return given
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
    shape = [1] * given.weights.ndim
    shape[axis] = len(frozen)
    return LayerChannels(
        np.where(frozen, multiplier, given.multiplier).astype(np.int32),
        np.where(frozen, shift, given.shift).astype(np.int8),
        np.where(frozen, steps_left.lowest, given.bias).astype(np.int32),
        np.where(frozen.reshape(shape), 0, given.weights).astype(np.int8),
    )
