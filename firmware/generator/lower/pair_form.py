"""The requantisation of a layer for the kernels of ``dot_s8_dsp.h``: which form, its biases and its table."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace

import numpy as np

from arenite.firmware.generator.affine_requant import AffineRequant, solve_with_shift
from arenite.firmware.generator.fixed_shift import FixedShift, fix_shift
from arenite.firmware.generator.folded import Folded
from arenite.firmware.generator.lower.pack_pairs import (
    pair_biases,
    pair_requant,
    rotated_biases,
    rotated_requant,
)
from arenite.firmware.generator.rotated_offset import rotate_offsets

#: AR_DOT_SHIFT, AR_DOT_FIXED and so on of dot_s8_dsp.h.
_SHIFT, _FIXED, _ONE_SIDED, _TWO_SIDED = 12, 0, 1, 2
#: Layers that are kept: whether one suits and its lowering both ask.
_REMEMBERED = 512


@dataclass(frozen=True)
class PairForm:
    """``biases``: int32 [pairs, 2]; ``requant``: int32 [pairs, 2], two-sided [pairs, 4]."""

    biases: np.ndarray
    requant: np.ndarray
    rounding: int
    shift: int
    form: int


_memory: OrderedDict[int, tuple[AffineRequant, PairForm | None]] = OrderedDict()


def pair_form(folded: Folded) -> PairForm | None:
    """None where the offset of an odd channel has no proof in the top byte of its sum. The weights' first axis is that
    of the channels."""
    key = id(folded.requant)
    known = _memory.get(key)
    if known is not None and known[0] is folded.requant:
        return known[1]
    made = _make(folded)
    _memory[key] = (folded.requant, made)
    while len(_memory) > _REMEMBERED:
        _memory.popitem(last=False)
    return made


def _make(folded: Folded) -> PairForm | None:
    requant = folded.requant
    if requant.two_sided:
        fixed = solve_with_shift(
            folded.steps,
            requant.multiplier * 2.0 ** (requant.scale - 32 - requant.shift),
            requant.offset,
            folded.output_zero_point,
            requant.scale,
            _SHIFT,
            two_sided=True,
        )
        if fixed is not None:
            folded = replace(folded, requant=fixed)
            requant = fixed
        return PairForm(
            pair_biases(folded), pair_requant(folded), requant.rounding, requant.shift, _TWO_SIDED
        )
    odd = np.arange(1, len(folded.bias), 2)
    own = FixedShift((folded.bias << requant.scale) + requant.offset, requant.multiplier, requant.rounding)
    for start, shift, form in (
        (fix_shift(folded, 0, _SHIFT), _SHIFT, _FIXED),
        (own, requant.shift, _ONE_SIDED),
    ):
        made = None if start is None else rotate_offsets(folded, start, 0, shift, odd)
        if made is not None:
            return PairForm(
                rotated_biases(made.bias), rotated_requant(made.multiplier), made.rounding, shift, form
            )
    return None
