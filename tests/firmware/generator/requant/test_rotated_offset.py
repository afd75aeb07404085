"""An offset of the requantization can be added in the top byte of a sum. The words are those of the kernel bit by bit,
and the outputs do not change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.firmware.generator.requant.affine import AffineRequant, OutputSteps
from arenite.firmware.generator.requant.fixed_shift import FixedShift
from arenite.firmware.generator.requant.folded_layer import FoldedLayer
from arenite.firmware.generator.requant.rotated_offset import rotate_offsets, rotated


@given(st.integers(-(1 << 23), (1 << 23) - 1), st.integers(0, 255))
def test_a_rotation_scales_and_adds(total: int, offset: int) -> None:
    word = (total + (offset << 24)) & 0xFFFFFFFF
    rotated_word = (word << 8 | word >> 24) & 0xFFFFFFFF
    signed = rotated_word - (1 << 32) if rotated_word >> 31 else rotated_word
    assert signed == rotated(np.array(total), np.array(offset))


def layer(offset: int, zero_point: int, multiplier: int = 1 << 28) -> tuple[FoldedLayer, FixedShift]:
    """Return a layer of one channel with two weights, and its fixed shift. The reachable accumulators are on both sides
    of zero."""
    shift, bias = 6, -1000
    requant = AffineRequant(
        np.array([multiplier], np.int32),
        np.array([offset]),
        (1 << (shift - 1)) + (zero_point << shift),
        shift,
        8,
        two_sided=False,
    )
    none = np.zeros(0, np.int64)
    steps = OutputSteps(none, np.zeros((1, 0), np.int64), none, none)
    folded = FoldedLayer(
        np.array([[120, -127]]), np.array([bias]), requant, steps, 0, zero_point, (-128, 127)
    )
    return folded, FixedShift(np.array([(bias << 8) + offset]), requant.multiplier, requant.rounding)


@pytest.mark.parametrize("zero_point", [-128, 0, 100])
@pytest.mark.parametrize("offset", [0, 1, 77, 255])
@pytest.mark.parametrize("multiplier", [0, 1 << 26, (1 << 28) + 12345, (1 << 29) - 1])
def test_rotated_offsets_change_no_output(offset: int, zero_point: int, multiplier: int) -> None:
    folded, fixed = layer(offset, zero_point, multiplier)
    result = rotate_offsets(folded, fixed, 0, folded.requant.shift, np.array([0]))
    assert result is not None
    # 247 is the sum of the magnitudes of the two weights.
    sums = np.arange(-128 * 247, 128 * 247)[:, None]
    before = folded.requant.apply(folded.bias + sums)
    x = rotated((result.bias >> 8) + sums, result.bias & 255)
    high = (x * result.multiplier + (result.rounding << 32)) >> (32 + folded.requant.shift)
    assert np.array_equal(np.clip(high, -128, 127), before)


def test_a_sum_of_more_than_24_bits_leaves_no_bits_for_an_offset() -> None:
    folded, fixed = layer(5, 0)
    large = FoldedLayer(
        folded.weights, np.array([1 << 23]), folded.requant, folded.steps, 0, 0, folded.act_range
    )
    moved = FixedShift(np.array([(1 << 31) + 5]), fixed.multiplier, fixed.rounding)
    assert rotate_offsets(large, moved, 0, folded.requant.shift, np.array([0])) is None
