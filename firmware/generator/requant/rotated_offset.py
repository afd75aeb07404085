"""The offset of a one-sided requantization in the top byte of the sum itself, where it needs no table.

A kernel whose sum B has 24 bits starts it with ``offset << 24``, and ROR #24 makes 256 * B with that byte as its low
one: B scaled and its offset added, in one instruction. A negative B takes one from the byte, so that

    x = 256 * B + ((offset - (B < 0)) & 255)

which grows with B as 256 * B + offset does. Whether it gives the same outputs is decided by the steps, like everything
in ``affine_requant``; where it does not, another bias in units of 1 / 256, or another multiplier, often does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.firmware.generator.requant.affine import OutputSteps
from arenite.firmware.generator.requant.fixed_shift import FixedShift, folded_steps
from arenite.firmware.generator.requant.folded_layer import FoldedLayer

#: B has this many bits besides its sign.
_BITS = 23
#: Biases and multipliers tried, relative to those given.
_NUDGES = tuple(sorted(range(-12, 13), key=abs))
_FACTORS = tuple(sorted(range(-32, 33), key=abs))


def rotate_offsets(
    folded: FoldedLayer, start: FixedShift, axis: int, shift: int, channels: np.ndarray
) -> FixedShift | None:
    """``start`` with the bias and multiplier of each of ``channels`` (int64 indices) so that ``x`` above, with the
    lowest byte of the bias as the offset and the rest as what B starts with, gives the outputs of ``folded``, for every
    input; None where a channel has no proof. ``shift`` belongs to ``start``; ``axis`` is that of the channels in the
    weights."""
    steps = folded_steps(folded, axis)
    bias, multiplier = start.bias.astype(np.int64), start.multiplier.astype(np.int64)
    left = channels
    for factor in _FACTORS:
        for nudge in _NUDGES:
            part = OutputSteps(steps.levels, steps.first[left], steps.lowest[left], steps.highest[left])
            tried = multiplier[left] + factor
            good = _hits(part, folded.bias[left], bias[left] + nudge, tried, start.rounding, shift)
            bias[left[good]] += nudge
            multiplier[left[good]] = tried[good]
            left = left[~good]
            if not left.size:
                return replace(start, bias=bias.astype(np.int32), multiplier=multiplier.astype(np.int32))
    return None


def rotated(sums: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """``x`` of the module's formula, in int64."""
    return (sums << 8) + ((offset - (sums < 0)) & 255)


def _hits(
    steps: OutputSteps,
    folded_bias: np.ndarray,
    bias: np.ndarray,
    multiplier: np.ndarray,
    rounding: int,
    shift: int,
) -> np.ndarray:
    """Bool [channels]: whether every step that can be reached or missed is hit."""
    bound = ((steps.levels << (32 + shift)) - (rounding << 32))[None, :]
    whole, offset = ((bias >> 8) - folded_bias)[:, None], (bias & 255)[:, None]
    factor = multiplier[:, None]
    reached = rotated(steps.first + whole, offset) * factor >= bound
    missed = rotated(steps.first - 1 + whole, offset) * factor < bound
    good = (reached | (steps.first > steps.highest[:, None])).all(axis=1)
    good &= (missed | (steps.first <= steps.lowest[:, None])).all(axis=1)
    good &= (multiplier >= 0) & (multiplier < 1 << 31)
    for end in (steps.lowest, steps.highest):
        sums = end + whole[:, 0]
        good &= (sums >= -(1 << _BITS)) & (sums < 1 << _BITS)
    value: np.ndarray = good
    return value
