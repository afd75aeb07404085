"""Choose the requantization of a layer for the kernels of ``dot_s8_dsp.h``, which compute channels in pairs.

The header explains the three forms (fixed, one-sided, two-sided) and the layout of biases and requantization table.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from arenite.firmware.generator.lower.conv.channel_pairs import (
    pair_biases,
    pair_requant,
    rotated_biases,
    rotated_requant,
)
from arenite.firmware.generator.requant.affine import AffineRequant
from arenite.firmware.generator.requant.fixed_shift import FixedShift, fix_shift, fix_two_sided_shift
from arenite.firmware.generator.requant.folded_layer import FoldedLayer
from arenite.firmware.generator.requant.rotated_offset import rotate_offsets

#: AR_DOT_SHIFT in dot_s8_dsp.h: the constant shift of some kernels.
_FIXED_SHIFT = 12
#: AR_DOT_FIXED, AR_DOT_ONE_SIDED and AR_DOT_TWO_SIDED in dot_s8_dsp.h: the values of ``PairRequantization.form``.
_FIXED, _ONE_SIDED, _TWO_SIDED = 0, 1, 2
#: Number of layers that are cached, because ``can_run`` and ``lower`` need the same result.
_CACHED_LAYERS = 512


@dataclass(frozen=True)
class PairRequantization:
    """The constants of a layer in the layout of ``dot_s8_dsp.h``.

    ``biases`` is int32 [pairs, 2]. ``requant`` is the table of multipliers, int32 [pairs, 2]; a two-sided table also
    has offsets: [pairs, 4]. ``rounding``, ``shift`` and ``form`` are the fields of ``ar_dot_s8_dsp``.
    """

    biases: np.ndarray
    requant: np.ndarray
    rounding: int
    shift: int
    form: int


_cache: OrderedDict[int, tuple[AffineRequant, PairRequantization | None]] = OrderedDict()


def pair_requantization(folded: FoldedLayer) -> PairRequantization | None:
    """Return the requantization of a layer. The first axis of its weights must be the output channels.

    The kernels keep the offset of each odd channel (1, 3, ...) in the top byte of the sum (``rotated_offset.py``).
    Returns None if it cannot be proven that this changes no output.
    """
    key = id(folded.requant)
    entry = _cache.get(key)
    if entry is not None and entry[0] is folded.requant:
        return entry[1]
    result = _solve_pairs(folded)
    _cache[key] = (folded.requant, result)
    while len(_cache) > _CACHED_LAYERS:
        _cache.popitem(last=False)
    return result


def _solve_pairs(folded: FoldedLayer) -> PairRequantization | None:
    """Compute ``pair_requantization``. The fixed shift is preferred, because it saves instructions."""
    requant = folded.requant
    if requant.two_sided:
        folded = fix_two_sided_shift(folded, _FIXED_SHIFT) or folded
        requant = folded.requant
        return PairRequantization(
            pair_biases(folded), pair_requant(folded), requant.rounding, requant.shift, _TWO_SIDED
        )
    odd_channels = np.arange(1, len(folded.bias), 2)
    unchanged = FixedShift(
        (folded.bias << requant.scale) + requant.offset, requant.multiplier, requant.rounding
    )
    for start, shift, form in (
        (fix_shift(folded, 0, _FIXED_SHIFT), _FIXED_SHIFT, _FIXED),
        (unchanged, requant.shift, _ONE_SIDED),
    ):
        rotation = None if start is None else rotate_offsets(folded, start, 0, shift, odd_channels)
        if rotation is not None:
            return PairRequantization(
                rotated_biases(rotation.bias),
                rotated_requant(rotation.multiplier),
                rotation.rounding,
                shift,
                form,
            )
    return None
