"""Compute LiteRT's int8 SOFTMAX of two values, for a table of all outputs.

Sources: TFLite's reference softmax, and gemmlowp's exp_on_negative_values and one_over_one_plus_x_for_x_in_0_1.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from arenite.firmware.generator.requant.reference_math import (
    INT32_MAX,
    INT32_MIN,
    high_mul,
    round_shift,
    wrap32,
)

#: exp(-2^k) for k from -2 to 4, in Q0.31.
_POWERS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
#: 1/4 in Q5.26; exp(-1/8) and 1/3 in Q0.31; 48/17 and -32/17 in Q2.29.
_QUARTER, _EXP_EIGHTH, _THIRD = 1 << 24, 1895147668, 715827883
_NEWTON_START, _NEWTON_SLOPE = 1515870810, -1010580540
#: The largest difference of two int8 values.
_MAX_DIFFERENCE = 255


@cache  # the predictions for all boards and goals need the same table
def packed_outputs_of_two(multiplier: int, shift: int, diff_min: int) -> np.ndarray | None:
    """Return ``outputs_of_two`` in a byte for each difference, uint8 [differences]: twice the output x of the larger
    value, plus 1 if that of the smaller one is -x - 1. Return None if a smaller output is neither -x nor -x - 1: both
    outputs are rounded, and rarely both upwards."""
    outputs = outputs_of_two(multiplier, shift, diff_min).astype(np.int64)
    less = -outputs.sum(axis=1)
    if not np.isin(less, (0, 1)).all():
        return None
    packed: np.ndarray = (2 * outputs[:, 0] + less).astype(np.uint8)
    return packed


def outputs_of_two(multiplier: int, shift: int, diff_min: int) -> np.ndarray:
    """Return the outputs of the larger and of the smaller value by their difference, int8 [differences, 2].

    ``multiplier`` and ``shift`` (to the left) convert a difference to Q5.26. If the smaller value minus the larger one
    is below ``diff_min``, its exponential is 0. The outputs of larger differences than those in the table are equal to
    the last ones.
    """
    outputs = np.empty((_MAX_DIFFERENCE + 1, 2), np.int8)
    for difference in range(_MAX_DIFFERENCE + 1):
        values = [_exp_negative(high_mul(wrap32(-d << shift), multiplier)) for d in (0, difference)]
        if -difference < diff_min:
            values[1] = 0
        total = sum(round_shift(v, 12) for v in values)
        headroom = 32 - total.bit_length()
        scale = _one_over_one_plus(wrap32((total << headroom) - (1 << 31)))
        probabilities = [round_shift(high_mul(scale, v), 12 - headroom + 23) for v in values]
        outputs[difference] = np.clip([p - 128 for p in probabilities], -128, 127)
    differing = np.flatnonzero((outputs != outputs[-1]).any(axis=1))
    return outputs[: differing[-1] + 2 if differing.size else 1]


def _exp_negative(x: int) -> int:
    """Return exp(x) in Q0.31 for x <= 0 in Q5.26."""
    if x == 0:
        return INT32_MAX
    part = (x & (_QUARTER - 1)) - _QUARTER
    whole = part - x
    t = part * 32 + (1 << 28)
    t2 = high_mul(t, t)
    t3 = high_mul(t2, t)
    t4_over_4 = round_shift(high_mul(t2, t2), 2)
    tail = round_shift(high_mul(t4_over_4 + t3, _THIRD) + t2, 1)
    result = _EXP_EIGHTH + high_mul(_EXP_EIGHTH, t + tail)
    for k, power in enumerate(_POWERS):
        if whole >> (24 + k) & 1:
            result = high_mul(result, power)
    return result


def _one_over_one_plus(x: int) -> int:
    """Return 1 / (1 + x) in Q0.31 for x in [0, 1) in Q0.31."""
    d = (x + INT32_MAX + 1) // 2
    y = _NEWTON_START + high_mul(d, _NEWTON_SLOPE)
    for _ in range(3):
        y += _shift_saturating(high_mul(y, (1 << 29) - high_mul(d, y)), 2)
    return _shift_saturating(y, 1)


def _shift_saturating(x: int, exponent: int) -> int:
    return min(max(x << exponent, INT32_MIN), INT32_MAX)
