"""A channel's bias, multiplier and shift are packed into six bytes. Unpacking them as in ``conv_output.h`` gives the
same values."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.firmware.generator.requant.compact_channels import CompactChannels, compact_channels
from arenite.firmware.generator.requant.packed_multiplier import Shortened


def unpacked(compact: CompactChannels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return bias, multiplier and right shift, int64 [channels] each, computed with the kernel's 32-bit arithmetic."""
    words = compact.bias.view(np.uint32).astype(np.int64)
    bits = compact.table.astype(np.int64) | (words >> (32 - compact.spare) << 16 & 0xFFFFFFFF)
    bias = (words << compact.spare & 0xFFFFFFFF).astype(np.uint32).view(np.int32).astype(
        np.int64
    ) >> compact.spare
    dropped = 14 + compact.shift_bits - compact.spare
    multiplier = (bits >> compact.shift_bits << dropped) | 0x40000000
    return bias, multiplier, compact.shift_base + (bits & ((1 << compact.shift_bits) - 1))


@pytest.mark.parametrize("dropped", [1, 3, 7])
@pytest.mark.parametrize("shifts", [1, 2, 9, 16, 100])
def test_stored_values_are_unpacked_unchanged(dropped: int, shifts: int) -> None:
    rng = np.random.default_rng(dropped * 1000 + shifts)
    stored = rng.integers(0, 1 << (30 - dropped), 64)
    right_shift = np.concatenate([[3, 2 + shifts], rng.integers(3, 3 + shifts, 62)])
    bias = rng.integers(-(1 << 9), 1 << 9, 64)
    compact = compact_channels(Shortened(stored, right_shift, dropped), bias)
    bits = 30 - dropped + int(right_shift.max() - right_shift.min()).bit_length()
    assert (compact is None) == (bits > 32)
    if compact is not None:
        multiplier = stored << dropped | 0x40000000
        for actual, expected in zip(unpacked(compact), (bias, multiplier, right_shift), strict=True):
            np.testing.assert_array_equal(actual, expected)


def test_a_bias_without_spare_bits_is_not_packed() -> None:
    short = Shortened(np.array([1]), np.array([5]), 3)
    assert compact_channels(short, np.array([(1 << 20) - 1])) is not None
    assert compact_channels(short, np.array([1 << 20])) is None
