"""Keep the offset of a one-sided requantization (see ``affine.py``) in the top byte of the accumulator's initial value.

Then the kernel needs no table of offsets.

B is the accumulator: the bias plus the weighted inputs. If B fits in 24 bits, the kernel adds ``offset << 24`` to its
initial value. ROR #24 then gives 256 * B with that byte as its lowest byte: it scales B and adds its offset in one
instruction. A negative B subtracts one from the byte, so that

    x = 256 * B + ((offset - (B < 0)) & 255)

which grows with B as 256 * B + offset does. ``affine.py`` defines the steps of a requantization: the accumulators at
which the output increases. A formula with the same steps gives the same outputs. If ``x`` has other steps, another bias
in units of 1 / 256, or another multiplier, often has the right ones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from arenite.firmware.generator.requant.affine import OutputSteps
from arenite.firmware.generator.requant.fixed_shift import FixedShift, folded_steps
from arenite.firmware.generator.requant.folded_layer import FoldedLayer

#: The number of bits of B besides its sign.
_BITS = 23
#: Biases and multipliers to try, as differences from the first ones (``start`` of ``rotate_offsets``).
_NUDGES = tuple(sorted(range(-12, 13), key=abs))
_FACTORS = tuple(sorted(range(-32, 33), key=abs))


def rotate_offsets(
    folded: FoldedLayer, start: FixedShift, axis: int, shift: int, channels: np.ndarray
) -> FixedShift | None:
    """Return ``start`` with another bias and multiplier for each of ``channels`` (int64 indices).

    With them, ``x`` of the module's formula gives the outputs of ``folded`` for every input: the lowest byte of the
    bias is the offset, and the rest is the initial value of B. Returns None if this cannot be proven for a channel.
    ``shift`` is the shift of ``start``; ``axis`` is the channel axis of the weights.
    """
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
    """Return ``x`` of the module's formula, as int64."""
    return (sums << 8) + ((offset - (sums < 0)) & 255)


def _hits(
    steps: OutputSteps,
    folded_bias: np.ndarray,
    bias: np.ndarray,
    multiplier: np.ndarray,
    rounding: int,
    shift: int,
) -> np.ndarray:
    """Return bool [channels]: True where the output increases exactly at the steps, for every accumulator that the
    channel can have."""
    bound = ((steps.levels << (32 + shift)) - (rounding << 32))[None, :]
    initial, offset = ((bias >> 8) - folded_bias)[:, None], (bias & 255)[:, None]
    factor = multiplier[:, None]
    reached = rotated(steps.first + initial, offset) * factor >= bound
    missed = rotated(steps.first - 1 + initial, offset) * factor < bound
    good = (reached | (steps.first > steps.highest[:, None])).all(axis=1)
    good &= (missed | (steps.first <= steps.lowest[:, None])).all(axis=1)
    good &= (multiplier >= 0) & (multiplier < 1 << 31)
    for end in (steps.lowest, steps.highest):
        sums = end + initial[:, 0]
        good &= (sums >= -(1 << _BITS)) & (sums < 1 << _BITS)
    return cast(np.ndarray, good)
