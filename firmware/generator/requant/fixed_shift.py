"""Requantize with a shift that is a constant in the kernel, instead of a shift per layer.

The multiplier becomes less precise, and the offset of each channel compensates for it. If that is proven to change no
output, the kernel saves one instruction for every output.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from arenite.converters.graph.quantized_arithmetic import INTEGER_RANGE
from arenite.firmware.generator.requant.affine import OutputSteps, offset_intervals, solve_with_shift
from arenite.firmware.generator.requant.folded_layer import FoldedLayer

_LOW, _HIGH = INTEGER_RANGE["int8"]
_INT32_MAX = (1 << 31) - 1
#: Multipliers to try, as differences from the nearest one.
_NUDGES = tuple(sorted(range(-256, 257), key=abs))


@dataclass(frozen=True)
class FixedShift:
    """The integers of ``out = saturate((x * multiplier + rounding * 2**32) >> (32 + shift))`` with
    ``x = bias + sum(w * input) * 2**scale``. ``bias`` and ``multiplier`` are int32 [channels]."""

    bias: np.ndarray
    multiplier: np.ndarray
    rounding: int


def fix_shift(folded: FoldedLayer, axis: int, shift: int) -> FixedShift | None:
    """Return a requantization with ``shift`` and the same outputs for every input. Returns None if this is not
    proven for every channel, or for a two-sided requantization. ``axis`` is the channel axis of the weights."""
    requant = folded.requant
    if requant.two_sided:
        return None
    steps = folded_steps(folded, axis)
    lowest, highest = steps.lowest, steps.highest
    scale = requant.scale
    rounding = (1 << (shift - 1)) + (folded.output_zero_point << shift)
    nearest = np.rint(requant.multiplier * 2.0 ** (shift - requant.shift)).astype(np.int64)
    bias, multiplier = np.zeros_like(nearest), np.zeros_like(nearest)
    left = np.arange(len(nearest))  # the channels for which no integers have been found yet
    for nudge in _NUDGES:
        part = OutputSteps(steps.levels, steps.first[left], lowest[left], highest[left])
        factor = np.clip(nearest[left] + nudge, 1, _INT32_MAX)
        low, high = offset_intervals(part, factor, rounding, shift, scale)
        # Only the range of x limits the offset of a channel without steps.
        low = np.maximum(low, -_INT32_MAX - (part.lowest << scale))
        high = np.minimum(high, _INT32_MAX - (part.highest << scale))
        good = low <= high
        offset = (low + high) // 2
        multiplier[left[good]] = factor[good]
        bias[left[good]] = ((folded.bias[left] << scale) + offset)[good]
        left = left[~good]
        if not left.size:
            break
    if left.size or np.any(np.abs(bias) > _INT32_MAX):
        return None
    return FixedShift(bias.astype(np.int32), multiplier.astype(np.int32), rounding)


def fix_two_sided_shift(folded: FoldedLayer, shift: int) -> FoldedLayer | None:
    """Return ``folded``, whose requantization is two-sided, with a requantization with ``shift``; None if there is none
    that is proven exact."""
    requant = folded.requant
    fixed = solve_with_shift(
        folded.steps,
        requant.multiplier * 2.0 ** (requant.scale - 32 - requant.shift),
        requant.offset,
        folded.output_zero_point,
        requant.scale,
        shift,
        two_sided=True,
    )
    return None if fixed is None else replace(folded, requant=fixed)


def folded_steps(folded: FoldedLayer, axis: int) -> OutputSteps:
    """Return the sums ``bias + sum(w * input)`` at which the folded layer's own outputs increase, for one-sided
    requantization."""
    requant = folded.requant
    others = tuple(a for a in range(folded.weights.ndim) if a != axis)
    ends = np.stack([folded.weights * _LOW, folded.weights * _HIGH])
    lowest = ends.min(axis=0).sum(axis=others) + folded.bias
    highest = ends.max(axis=0).sum(axis=others) + folded.bias
    levels = np.arange(_LOW + 1, _HIGH + 1, dtype=np.int64)
    bound = ((levels << (32 + requant.shift)) - (requant.rounding << 32))[None, :]
    factor = np.maximum(requant.multiplier.astype(np.int64), 1)[:, None]
    x = -((-bound) // factor)
    first = -((-(x - requant.offset[:, None])) >> requant.scale)
    # A multiplier of 0 reaches a level with every accumulator or with none.
    never = (requant.multiplier == 0)[:, None]
    first = np.where(never, np.where(bound <= 0, lowest[:, None], highest[:, None] + 1), first)
    return OutputSteps(levels, np.clip(first, lowest[:, None], highest[:, None] + 1), lowest, highest)
