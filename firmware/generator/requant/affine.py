"""Requantize with one multiply-add, where it is proven to give LiteRT's outputs exactly.

LiteRT scales an accumulator to int8 with a rounding multiplication and, for convolutions, a second rounding shift. For
every channel this is a function that never decreases. So its steps describe it completely: the at most 255 accumulators
at which the output increases by one. The kernels compute

    x   = acc * 2**scale + offset                    (one-sided)
    x   = acc * 2**scale + (offset ^ (acc >> 31))    (two-sided)
    out = saturate_int8((x * multiplier + rounding * 2**32) >> (32 + shift))

(on Armv7E-M: ADD with shift, SMMLA, ASR, SSAT) with ``multiplier`` and ``offset`` per channel and ``rounding`` and
``shift`` per layer. The offset is what the first of two roundings adds: between a half and one accumulator unit,
depending on the multiplier. The second rounding rounds halves away from zero, which reverses the sign of the offset for
negative accumulators. Only outputs that are clamped at their zero point (a ReLU) do not depend on that sign. Neither
form ever decreases, so each agrees with the exact function for every reachable accumulator if the steps agree. Each
step gives two inequalities that are linear in ``multiplier``. The multipliers that satisfy all of them form an
interval, which is computed exactly with integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from arenite.converters.graph.quantized_arithmetic import INTEGER_RANGE
from arenite.firmware.generator.requant.single_rounding import first_reaching

_INT32_MAX = (1 << 31) - 1
#: Every accumulator is nearer to zero than this number.
_UNREACHED = 1 << 31
#: Larger than any bound of an interval.
_UNBOUNDED = 1 << 60
#: The largest shift. Above it the inequalities would not fit into 64 bits, and such a small scale needs no more bits.
_MAX_SHIFT = 22
#: The number of channels that are solved together. This limits the memory of the proof.
_BLOCK = 256
#: Offsets to try, as differences from the likely offset.
_NUDGES = (0, 1, -1, 2, -2, 3, -3, 4, -4, 6, -6, 8, -8, 12, -12, 16, -16)


@dataclass(frozen=True)
class OutputSteps:
    """The accumulators at which the exact int8 output of each channel increases.

    ``levels``: int64 [levels], all output values above the lowest one. ``first``: int64 [channels, levels], the
    smallest accumulator whose output is at least the level, even if no input reaches it. ``lowest``, ``highest``: int64
    [channels], bounds of the accumulator.
    """

    levels: np.ndarray
    first: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray


@dataclass(frozen=True)
class AffineRequant:
    """The integers of ``out = saturate((x * multiplier[c] + rounding * 2**32) >> (32 + shift))`` for channel ``c``.
    ``two_sided`` selects the formula of ``x`` in the module's docstring.

    A one-sided kernel may add ``offset >> scale`` to the bias. Then the remaining offset is below ``2**scale``.
    """

    multiplier: np.ndarray  # int32 [channels], not negative
    offset: np.ndarray  # int64 [channels]; two-sided 0 to 2 * 2**scale
    rounding: int  # int32
    shift: int  # 1 to 22
    scale: int
    two_sided: bool

    def apply(self, acc: np.ndarray) -> np.ndarray:
        """Return the outputs of the kernels' formula (int64, before the activation's clamp) for accumulators ``acc``,
        int64 [..., channels]."""
        x = scaled(acc, self.offset.astype(np.int64), self.scale, self.two_sided)
        high = (x * self.multiplier + (self.rounding << 32)) >> (32 + self.shift)
        return cast(np.ndarray, np.clip(high, *INTEGER_RANGE["int8"]))


def convolution_steps(
    multiplier: np.ndarray,
    shift: np.ndarray,
    output_zero_point: int,
    act_range: tuple[int, int],
    lowest: np.ndarray,
    highest: np.ndarray,
) -> OutputSteps | None:
    """Return the steps of an operator that rounds twice, or None for scales of 1 and above, which shift to the left.

    ``multiplier`` and ``shift`` (from ``quantize_multiplier``), ``lowest`` and ``highest`` are per channel.
    Both roundings are inverted exactly. Inverting the second one gives the smallest intermediate value of each level,
    inverting the first one the smallest accumulator that gives this value.
    """
    multiplier, shift = multiplier.astype(np.int64), shift.astype(np.int64)
    if np.any(shift > 0):
        return None
    levels = np.arange(act_range[0] + 1, act_range[1] + 1, dtype=np.int64)
    output_offsets = levels - output_zero_point
    # Below 2**-24 a level would not fit into 64 bits here. Such a scale reduces every accumulator to almost nothing.
    right = np.minimum(-shift, 24)[:, None]
    half = (np.int64(1) << right) >> 1
    # The smallest intermediate value that rounds to the level. Halves round away from zero, so it is one more below
    # zero.
    middle = (output_offsets << right) - half + ((output_offsets <= 0) & (right > 0))
    # The smallest acc with (acc * multiplier + 2**30) >> 31 >= middle.
    first = -((-((middle << 31) - (1 << 30))) // np.maximum(multiplier, 1)[:, None])
    first = np.where(
        (multiplier > 0)[:, None], first, np.where(output_offsets <= 0, -_UNREACHED, _UNREACHED + 1)
    )
    if np.any((shift < -24) & (multiplier > 0)):
        tiny = (shift < -24) & (multiplier > 0)
        first[tiny] = _tiny_steps(multiplier[tiny], -shift[tiny], output_offsets)
    return OutputSteps(
        levels, np.clip(first, -_UNREACHED, _UNREACHED + 1), lowest.astype(np.int64), highest.astype(np.int64)
    )


def _tiny_steps(multiplier: np.ndarray, right: np.ndarray, output_offsets: np.ndarray) -> np.ndarray:
    """Return ``first`` for channels with very small scales, computed with Python's integers."""
    rows = []
    for m, n in zip(multiplier.tolist(), right.tolist(), strict=True):
        middle = [(w << n) - (1 << (n - 1)) + (w <= 0) for w in output_offsets.tolist()]
        steps = [-((-((v << 31) - (1 << 30))) // m) for v in middle]
        rows.append([min(max(v, -_UNREACHED), _UNREACHED + 1) for v in steps])
    return np.array(rows, np.int64)


def fully_connected_steps(
    scales: np.ndarray,
    output_zero_point: int,
    act_range: tuple[int, int],
    lowest: np.ndarray,
    highest: np.ndarray,
) -> OutputSteps:
    """Return the steps of FULLY_CONNECTED, which rounds ``double(acc) * scale`` once. All arrays are per channel."""
    levels = np.arange(act_range[0] + 1, act_range[1] + 1, dtype=np.int64)
    first = np.concatenate(
        [
            first_reaching(levels - output_zero_point, scales[at : at + _BLOCK])
            for at in range(0, len(scales), _BLOCK)
        ]
    )
    return OutputSteps(
        levels, np.clip(first, -_UNREACHED, _UNREACHED + 1), lowest.astype(np.int64), highest.astype(np.int64)
    )


def scaled(acc: np.ndarray, offset: np.ndarray, scale: int, two_sided: bool) -> np.ndarray:
    """Return ``x`` of the module's formula, as int64."""
    return cast(np.ndarray, (acc << scale) + (offset ^ (acc >> 63) if two_sided else offset))


def solve(
    steps: OutputSteps,
    real: np.ndarray,
    offset: np.ndarray,
    output_zero_point: int,
    scale: int,
    sides: Sequence[bool] = (False, True),
) -> AffineRequant | None:
    """Return integers that give every step of every channel, by default one-sided if possible; None if there are none.

    Args:
        steps: result of ``convolution_steps`` or ``fully_connected_steps``.
        real: float64 [channels], output units per accumulator unit. It is only a starting point; the proof does not
            depend on it.
        offset: float64 [channels], likely offset in accumulator units, see ``twice_rounded_offset``. It is also only
            a starting point.
        output_zero_point: zero point of the output tensor.
        scale: left shift of the accumulator in the kernel, 0 to 8; ``x`` must stay in 32 bits.
        sides: the forms to try, in this order: True for two-sided.
    """
    largest = float(np.max(real))
    shift = _MAX_SHIFT if largest <= 0 else int(np.floor(scale - 1 - np.log2(largest)))
    shift = min(shift, _MAX_SHIFT)
    if shift < 1:  # half an output unit would not fit into the rounding constant
        return None
    near = np.clip(np.rint(offset * (1 << scale)), 0, 2 << scale).astype(np.int64)
    for two_sided in sides:
        solution = solve_with_shift(steps, real, near, output_zero_point, scale, shift, two_sided)
        if solution is not None:
            return solution
    return None


def solve_with_shift(
    steps: OutputSteps,
    real: np.ndarray,
    near: np.ndarray,
    output_zero_point: int,
    scale: int,
    shift: int,
    two_sided: bool,
) -> AffineRequant | None:
    """Run ``solve`` for one shift and one form. ``near`` are likely offsets, int64 [channels], in units of ``x``."""
    rounding = (1 << (shift - 1)) + (output_zero_point << shift)
    multiplier, chosen = np.zeros(len(near), np.int64), np.zeros(len(near), np.int64)
    left = np.arange(len(near))  # the channels for which no integers have been found yet

    def accept(good: np.ndarray, factor: np.ndarray, offset: np.ndarray) -> None:
        nonlocal left
        part = _select_channels(steps, left)
        for end in (part.lowest, part.highest):
            good = good & (np.abs(scaled(end, offset, scale, two_sided)) <= _INT32_MAX)
        multiplier[left[good]] = factor[good]
        chosen[left[good]] = offset[good]
        left = left[~good]

    for nudge in _NUDGES:
        tried = np.clip(near[left] + nudge, 0, 2 << scale)
        lo, hi = multiplier_intervals(_select_channels(steps, left), tried, rounding, shift, scale, two_sided)
        accept(lo <= hi, (lo + hi) // 2, tried)
        if not left.size:
            break
    if left.size and not two_sided:
        # The remaining channels have few steps, far from zero. A small multiplier has too few bits to place these
        # steps, but the bias can move them. A channel with a single step may even have another slope (multiplier), with
        # which the accumulator stays small.
        for guess in (real, 1.0 / (steps.highest - steps.lowest + 1)):
            for nudge in _NUDGES[:7]:
                nearest = np.rint(guess[left] * 2.0 ** (32 + shift - scale)).astype(np.int64)
                factor = np.clip(nearest + nudge, 1, _INT32_MAX)
                lo, hi = offset_intervals(_select_channels(steps, left), factor, rounding, shift, scale)
                accept(lo <= hi, factor, (lo + hi) // 2)
    if left.size:
        return None
    return AffineRequant(multiplier.astype(np.int32), chosen, rounding, shift, scale, two_sided)


def offset_intervals(
    steps: OutputSteps, multiplier: np.ndarray, rounding: int, shift: int, scale: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest one-sided offset of each channel that gives all its steps with ``multiplier``."""
    bound = ((steps.levels << (32 + shift)) - (rounding << 32))[None, :]
    first = np.clip(steps.first, steps.lowest[:, None], steps.highest[:, None] + 1)
    m = multiplier[:, None]
    lo = np.where(first <= steps.highest[:, None], -((-bound) // m) - (first << scale), -_UNBOUNDED)
    hi = np.where(first > steps.lowest[:, None], (bound - 1) // m - ((first - 1) << scale), _UNBOUNDED)
    return lo.max(axis=1, initial=-_UNBOUNDED), hi.min(axis=1, initial=_UNBOUNDED)


def twice_rounded_offset(multiplier: np.ndarray) -> np.ndarray:
    """Return the amount that the first of two roundings adds, in accumulator units: half of 2**31 over the multiplier,
    or 0 if the multiplier is 0."""
    return np.where(multiplier > 0, 2.0**30 / np.maximum(multiplier, 1), 0.0)


def _select_channels(steps: OutputSteps, channels: np.ndarray) -> OutputSteps:
    return OutputSteps(steps.levels, steps.first[channels], steps.lowest[channels], steps.highest[channels])


def multiplier_intervals(
    steps: OutputSteps, offset: np.ndarray, rounding: int, shift: int, scale: int, two_sided: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest multiplier of each channel that give all its steps: int64 [channels] each. If
    the lowest exceeds the highest, the channel has no such multiplier."""
    bound = (steps.levels << (32 + shift)) - (rounding << 32)
    below, above = [], []
    for at in range(0, len(steps.first), _BLOCK):
        block = slice(at, at + _BLOCK)
        part = _select_channels(steps, np.arange(len(steps.first))[block])
        lo, hi = _interval(bound, part, offset[block, None], scale, two_sided)
        below.append(lo)
        above.append(hi)
    return np.concatenate(below), np.concatenate(above)


def _interval(
    bound: np.ndarray, steps: OutputSteps, offset: np.ndarray, scale: int, two_sided: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest multiplier m with ``x(first) * m >= bound`` and ``x(first - 1) * m < bound`` for
    every step that the accumulator can reach or miss. x is the scaled accumulator with its offset."""
    first = np.clip(steps.first, steps.lowest[:, None], steps.highest[:, None] + 1)
    reach = scaled(first, offset, scale, two_sided)
    miss = scaled(first - 1, offset, scale, two_sided)
    limit = np.broadcast_to(bound, first.shape)
    nothing, everything = np.int64(0), np.int64(_INT32_MAX)

    def divided(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        safe = np.where(b == 0, 1, b)
        return -((-a) // safe), a // safe  # rounded up, rounded down

    up, down = divided(limit, reach)
    must = first <= steps.highest[:, None]
    lo = np.where(must & (reach > 0), up, nothing)
    hi = np.where(must & (reach < 0), down, everything)
    hi = np.where(must & (reach == 0) & (limit > 0), -1, hi)
    up, down = divided(limit - 1, miss)
    must = first > steps.lowest[:, None]
    hi = np.where(must & (miss > 0), np.minimum(hi, down), hi)
    lo = np.where(must & (miss < 0), np.maximum(lo, up), lo)
    hi = np.where(must & (miss == 0) & (limit <= 0), -1, hi)
    return lo.max(axis=1, initial=0), hi.min(axis=1, initial=_INT32_MAX)


def freeze_constant(
    steps: OutputSteps, real: np.ndarray, output_zero_point: int
) -> tuple[OutputSteps, np.ndarray]:
    """Give each channel whose output is constant a scale and a bias that a kernel can use.

    Such a channel may have a bias far outside 24 bits. Whatever its scale was, one fixed accumulator and any other
    scale give the same output. Returns the steps to solve for, in which both bounds of each such channel are the one
    reachable accumulator, and bool [channels] that is True for these channels. The caller must set their weights to
    zero and their bias to that accumulator.
    """
    below = steps.first <= steps.lowest[:, None]
    frozen = np.all(below | (steps.first > steps.highest[:, None]), axis=1, keepdims=True)[:, 0]
    if not frozen.any() or not len(steps.levels):
        return steps, frozen
    usual = float(np.median(real[~frozen])) if not frozen.all() else 2.0**-8
    output = steps.levels[0] - 1 + below.sum(axis=1)
    acc = np.rint((output - output_zero_point) / usual).astype(np.int64)
    first = np.ceil((steps.levels - output_zero_point - 0.5) / usual).astype(np.int64)
    frozen_steps = OutputSteps(
        steps.levels,
        np.where(frozen[:, None], first[None, :], steps.first),
        np.where(frozen, acc, steps.lowest),
        np.where(frozen, acc, steps.highest),
    )
    return frozen_steps, frozen
