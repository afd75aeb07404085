"""Requantize in float32, for each channel where it is proven to give LiteRT's outputs exactly.

WebAssembly has no instruction for the high half of a product, but multiplies four float32 numbers at once. The kernels
compute for each channel

    out = clamp(round_to_even(float32(float32(float32(acc - center) * scale) + add)))

``center`` is the accumulator whose output is 0, so that the products of all outputs are small and have small rounding
errors. LiteRT rounds ties away from zero. Where that matters, ``center`` is 0, and negative accumulators have another
``add``.

As in ``affine.py``, LiteRT's output is described by the accumulators at which it increases. Every operation is
monotonic, so the formula is exact for all accumulators with the same ``add`` if it is exact directly before and at each
of these accumulators, and for the first and last one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.firmware.generator.requant.affine import OutputSteps

#: Scales to try, as numbers of float32 values away from the nearest one.
_NUDGES = (0, *(sign * k for k in range(1, 49) for sign in (1, -1)))
#: Where to try ``add`` in the interval that the steps allow.
_PLACES = (0.5, 0.3, 0.7, 0.1, 0.9)
#: Adding this number rounds a float32 number to an integer, which is then in the low bits of the sum, up to this
#: magnitude: 1.5 * 2**23, 2**22.
_MAGIC, _MAGIC_BITS, _MAX_MAGNITUDE = np.float32(12582912.0), 0x4B400000, 2.0**22
#: The largest center, so that accumulators minus the center fit into 32 bits where accumulators do.
_MAX_CENTER = 1 << 24
_INT32 = (-(1 << 31), (1 << 31) - 1)


@dataclass(frozen=True)
class FloatRequant:
    """The numbers of the formula, per channel. ``scale``, ``add``, ``add_negative`` (for negative accumulators):
    float32; ``center``: int64. ``exact``: whether the channel is proven exact; the numbers of other channels have no
    meaning."""

    scale: np.ndarray
    add: np.ndarray
    add_negative: np.ndarray
    center: np.ndarray
    exact: np.ndarray

    def apply(self, acc: np.ndarray) -> np.ndarray:
        """Return the outputs of the formula (int64, before the clamp) for accumulators int64 [..., channels]."""
        shifted = acc - self.center
        return _rounded(
            shifted.astype(np.float32), self.scale, np.where(shifted < 0, self.add_negative, self.add)
        )


@dataclass(frozen=True)
class _Half:
    """The steps that the accumulators ``lowest`` to ``highest`` reach, with float32 accumulators [channels, levels].

    ``at``: the first accumulator of each level, ``below``: the last one of the level below. ``at_matters`` and
    ``below_matters`` are False where there is none.
    """

    at: np.ndarray
    below: np.ndarray
    at_matters: np.ndarray
    below_matters: np.ndarray

    @classmethod
    def make(cls, first: np.ndarray, lowest: np.ndarray, highest: np.ndarray) -> _Half:
        low, high = lowest[:, None], highest[:, None]
        at, below = np.maximum(first, low), np.minimum(first - 1, high)
        at_matters, below_matters = (at <= high) & (low <= high), (below >= low) & (low <= high)
        return cls(
            np.where(at_matters, at, 0).astype(np.float32),
            np.where(below_matters, below, 0).astype(np.float32),
            at_matters,
            below_matters,
        )

    def find_add(
        self, rows: np.ndarray, scale: np.ndarray, levels: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ``add`` for the channels ``rows`` with these scales, and whether it is proven exact."""
        at, below = self.at[rows], self.below[rows]
        at_matters, below_matters = self.at_matters[rows], self.below_matters[rows]
        factor, middle = scale[:, None], levels - 0.5
        lower = np.where(at_matters, middle - (at * factor).astype(np.float64), -np.inf).max(
            axis=1, initial=-512.0
        )
        upper = np.where(below_matters, middle - (below * factor).astype(np.float64), np.inf).min(
            axis=1, initial=512.0
        )
        # Every accumulator has the same output: any number between the bounds will do.
        add, exact = np.zeros(len(rows), np.float32), np.zeros(len(rows), np.bool_)
        for place in _PLACES:
            term = (lower + place * (upper - lower)).astype(np.float32)
            good = ~at_matters | (_rounded(at, factor, term[:, None]) >= levels)
            good &= ~below_matters | (_rounded(below, factor, term[:, None]) < levels)
            found = good.all(axis=1) & ~exact
            add[found], exact[found] = term[found], True
        return add, exact


def solve_float(
    steps: OutputSteps, real: np.ndarray, output_zero_point: int, two_sided: bool = False
) -> FloatRequant:
    """Return numbers that give every step of every channel that an input can reach, where they are found.

    ``real``: float64 [channels], output units per accumulator unit, as a starting point. ``two_sided``: negative
    accumulators have their own ``add``, and ``center`` is 0.
    """
    channels = len(real)
    safe = np.maximum(real, 2.0**-40)
    center = np.rint(np.clip(-output_zero_point / safe, -_MAX_CENTER, _MAX_CENTER)).astype(np.int64)
    if two_sided:
        center = np.zeros(channels, np.int64)
    low, high = steps.lowest - center, steps.highest - center
    fits = (low >= _INT32[0]) & (high <= _INT32[1])
    fits &= np.maximum(np.abs(low), np.abs(high)) * safe < _MAX_MAGNITUDE / 2
    first = steps.first - center[:, None]
    if two_sided:
        halves = [_Half.make(first, np.maximum(low, 0), high), _Half.make(first, low, np.minimum(high, -1))]
    else:
        halves = [_Half.make(first, low, high)]
    base = safe.astype(np.float32)
    scale, adds = base.copy(), np.zeros((len(halves), channels), np.float32)
    exact = np.zeros(channels, np.bool_)
    for nudge in _NUDGES:
        pending = np.flatnonzero(fits & ~exact)
        if not len(pending):
            break
        factor = (base[pending].view(np.int32) + np.int32(nudge)).view(np.float32)
        solved = [half.find_add(pending, factor, steps.levels) for half in halves]
        found = np.logical_and.reduce([good for _, good in solved])
        chosen = pending[found]
        scale[chosen], exact[chosen] = factor[found], True
        adds[:, chosen] = [add[found] for add, _ in solved]
    return FloatRequant(scale, adds[0], adds[-1], center, exact)


def _rounded(acc: np.ndarray, scale: np.ndarray, add: np.ndarray) -> np.ndarray:
    """Return the formula's result (int64) for float32 accumulators without their center, with the kernels' operations
    in their order."""
    total = ((acc * scale).astype(np.float32) + add).astype(np.float32) + _MAGIC
    return np.asarray(total.astype(np.float32).view(np.int32).astype(np.int64) - _MAGIC_BITS)
