"""Keep the offset of a one-sided requantization (see ``affine.py``) in the top byte of the accumulator's initial value.

Then the kernel needs no table of offsets.

B is the accumulator: the bias plus the weighted inputs. If B fits in 24 bits, the kernel adds ``offset << 24`` to its
initial value. ROR #24 then gives 256 * B with that byte as its lowest byte, so one instruction scales B and adds the
offset. A negative B subtracts one from the byte, so that

    x = 256 * B + ((offset - (B < 0)) & 255)

which grows with B as 256 * B + offset does. ``affine.py`` defines the steps of a requantization: the accumulators at
which the output increases. A formula with the same steps gives the same outputs. If ``x`` has other steps, a slightly
different multiplier or bias often has the right steps. The offset byte is the fraction of the bias, in 1/256.
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
#: Changes of the bias and of the multiplier to try. They are added to the values in ``start`` of ``rotate_offsets``.
_BIAS_CHANGES = tuple(sorted(range(-12, 13), key=abs))
_MULTIPLIER_CHANGES = tuple(sorted(range(-32, 33), key=abs))


def rotate_offsets(
    folded: FoldedLayer, start: FixedShift, axis: int, shift: int, channels: np.ndarray
) -> FixedShift | None:
    """Return ``start`` with a bias and multiplier that suit the rotated offset, for each of ``channels`` (int64
    indices).

    With them, ``x`` (defined in the module docstring) leads to the outputs of ``folded`` for every input: the lowest
    byte of the bias is the offset, and the rest is the initial value of B. Returns None if this cannot be proven for a
    channel. ``shift`` is the right shift that ``start`` was computed for; ``axis`` is the channel axis of the weights.
    """
    steps = folded_steps(folded, axis)
    bias, multiplier = start.bias.astype(np.int64), start.multiplier.astype(np.int64)
    left = channels
    for multiplier_change in _MULTIPLIER_CHANGES:
        for bias_change in _BIAS_CHANGES:
            part = OutputSteps(steps.levels, steps.first[left], steps.lowest[left], steps.highest[left])
            tried = multiplier[left] + multiplier_change
            good = _same_steps(
                part, folded.bias[left], bias[left] + bias_change, tried, start.rounding, shift
            )
            bias[left[good]] += bias_change
            multiplier[left[good]] = tried[good]
            left = left[~good]
            if not left.size:
                return replace(start, bias=bias.astype(np.int32), multiplier=multiplier.astype(np.int32))
    return None


def rotated(sums: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return ``x`` of the module's formula, as int64."""
    return (sums << 8) + ((offset - (sums < 0)) & 255)


def _same_steps(
    steps: OutputSteps,
    folded_bias: np.ndarray,
    bias: np.ndarray,
    multiplier: np.ndarray,
    rounding: int,
    shift: int,
) -> np.ndarray:
    """Return bool [channels]: True where the output increases exactly at the accumulators in ``steps``, for every
    accumulator that the channel can have, and where B fits in 24 bits."""
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
