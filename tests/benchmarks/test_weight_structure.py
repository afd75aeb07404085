"""Tests of the counts of ``benchmarks.weight_structure``."""

from __future__ import annotations

import numpy as np

from benchmarks.weight_structure import Structure, direction


def test_rows_share_a_direction_if_one_is_a_multiple_of_the_other() -> None:
    row = np.array([0, 2, -4, 6])
    assert direction(row) == direction(row * 3) == direction(row // -2)
    assert direction(row) != direction(np.array([0, 2, -4, 5]))


def test_counts_of_a_layer() -> None:
    weights = np.zeros((4, 1, 1, 8), np.int64)
    weights[0, 0, 0] = [1, 2, 0, 0, 0, 0, 0, 0]
    weights[1, 0, 0] = [-2, -4, 0, 0, 0, 0, 0, 0]  # a multiple of the first
    weights[2, 0, 0] = [1, 1, 1, 1, 1, 0, 0, 0]
    counts = Structure()
    counts.add(weights, depthwise=False)
    assert (counts.channels, counts.weights, counts.zeros) == (4, 32, 23)
    assert (counts.blocks, counts.zero_blocks) == (8, 4)
    assert (counts.unused_inputs, counts.zero_channels, counts.proportional) == (3, 1, 1)


def test_only_zeros_are_counted_in_depthwise_layers() -> None:
    counts = Structure()
    counts.add(np.zeros((4, 3, 3, 1), np.int64), depthwise=True)
    assert (counts.zeros, counts.zero_channels, counts.blocks, counts.unused_inputs) == (36, 4, 0, 0)
