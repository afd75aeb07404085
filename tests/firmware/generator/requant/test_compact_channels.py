"""Six bytes for a channel's bias, multiplier and shift: unpacked as ``conv_output.h`` does."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.firmware.generator.requant.compact_channels import CompactChannels, compact_channels
from arenite.firmware.generator.requant.packed_multiplier import Shortened


def unpacked(dense: CompactChannels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bias, multiplier and shift to the right: int64 [channels] each, in the kernel's 32-bit arithmetic."""
    words = dense.bias.view(np.uint32).astype(np.int64)
    bits = dense.table.astype(np.int64) | (words >> (32 - dense.spare) << 16 & 0xFFFFFFFF)
    bias = (words << dense.spare & 0xFFFFFFFF).astype(np.uint32).view(np.int32).astype(
        np.int64
    ) >> dense.spare
    dropped = 14 + dense.shift_bits - dense.spare
    multiplier = (bits >> dense.shift_bits << dropped) | 0x40000000
    return bias, multiplier, dense.shift_base + (bits & ((1 << dense.shift_bits) - 1))


@pytest.mark.parametrize("dropped", [1, 3, 7])
@pytest.mark.parametrize("shifts", [1, 2, 9, 16, 100])
def test_what_is_stored_comes_back(dropped: int, shifts: int) -> None:
    rng = np.random.default_rng(dropped * 1000 + shifts)
    stored = rng.integers(0, 1 << (30 - dropped), 64)
    right = np.concatenate([[3, 2 + shifts], rng.integers(3, 3 + shifts, 62)])
    bias = rng.integers(-(1 << 9), 1 << 9, 64)
    dense = compact_channels(Shortened(stored, right, dropped), bias)
    bits = 30 - dropped + int(right.max() - right.min()).bit_length()
    assert (dense is None) == (bits > 32)
    if dense is not None:
        multiplier = stored << dropped | 0x40000000
        for got, want in zip(unpacked(dense), (bias, multiplier, right), strict=True):
            np.testing.assert_array_equal(got, want)


def test_a_bias_that_needs_its_bits_is_refused() -> None:
    short = Shortened(np.array([1]), np.array([5]), 3)
    assert compact_channels(short, np.array([(1 << 20) - 1])) is not None
    assert compact_channels(short, np.array([1 << 20])) is None
