"""If an affine form (multiply, add, shift) of a requantization is found, it gives the exact output for every reachable
accumulator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.graph.quantized_arithmetic import quantize_multiplier, round_twice
from arenite.firmware.generator.requant.affine import (
    OutputSteps,
    convolution_steps,
    freeze_constant,
    fully_connected_steps,
    solve,
    twice_rounded_offset,
)
from arenite.firmware.generator.requant.single_rounding import reference_round
from tests.example_count import example_count


def accumulators(lowest: int, highest: int, rng: np.random.Generator) -> np.ndarray:
    """Return all accumulators from ``lowest`` to ``highest``, or both ends and random ones of a large range."""
    if highest - lowest < 60_000:
        return np.arange(lowest, highest + 1, dtype=np.int64)
    return np.unique(np.concatenate([[lowest, highest], rng.integers(lowest, highest + 1, 60_000)]))


#: For each channel: the scale, the lowest accumulator, and the difference of the highest and the lowest accumulator.
channels = st.lists(
    st.tuples(st.floats(1e-5, 0.4), st.integers(-200_000, 100_000), st.integers(0, 200_000)),
    min_size=1,
    max_size=6,
)


@pytest.mark.slow
@settings(max_examples=example_count(150), deadline=None)
@given(channels, st.integers(-128, 127), st.booleans(), st.integers(6, 8), st.integers(0, 2**32 - 1))
def test_a_solution_for_a_convolution_is_exact(
    drawn: list[tuple[float, int, int]], zero_point: int, relu: bool, scale: int, seed: int
) -> None:
    pairs = [quantize_multiplier(real) for real, _, _ in drawn]
    multiplier, shift = (np.array(v, np.int64) for v in zip(*pairs, strict=True))
    lowest = np.array([low for _, low, _ in drawn], np.int64)
    highest = lowest + np.array([width for _, _, width in drawn], np.int64)
    act = (max(zero_point, -128), 127) if relu else (-128, 127)
    steps = convolution_steps(multiplier, shift, zero_point, act, lowest, highest)
    assert steps is not None
    real = multiplier * 2.0 ** (shift - 31)
    solution = solve(steps, real, twice_rounded_offset(multiplier), zero_point, scale)
    if solution is None:
        return
    rng = np.random.default_rng(seed)
    for c in range(len(drawn)):
        acc = accumulators(int(lowest[c]), int(highest[c]), rng)
        expected = np.clip(round_twice(acc, multiplier[c], shift[c]) + zero_point, *act)
        channel_solution = type(solution)(
            solution.multiplier[c],
            solution.offset[c],
            solution.rounding,
            solution.shift,
            scale,
            solution.two_sided,
        )
        np.testing.assert_array_equal(np.clip(channel_solution.apply(acc), *act), expected)


def test_usual_layers_have_a_solution() -> None:
    """Scales and sums are like those of a trained network. A layer without an affine form needs a slower kernel."""
    rng = np.random.default_rng(3)
    for zero_point, act in ((-128, (-128, 127)), (4, (-128, 127)), (-128, (-128, 90))):
        for _ in range(20):
            pairs = [
                quantize_multiplier(s) for s in 2.0 ** rng.uniform(-10, -6) * 2.0 ** rng.uniform(-4, 0, 32)
            ]
            multiplier, shift = (np.array(v, np.int64) for v in zip(*pairs, strict=True))
            highest = rng.integers(40_000, 400_000, 32)
            steps = convolution_steps(multiplier, shift, zero_point, act, -highest, highest)
            assert steps is not None
            offset = twice_rounded_offset(multiplier)
            solution = solve(steps, multiplier * 2.0 ** (shift - 31), offset, zero_point, 8)
            assert solution is not None
            assert solution.two_sided == (zero_point != -128)


@settings(max_examples=example_count(100), deadline=None)
@given(channels, st.integers(-128, 127), st.integers(0, 8), st.integers(0, 2**32 - 1))
def test_a_solution_for_a_fully_connected_layer_is_exact(
    drawn: list[tuple[float, int, int]], zero_point: int, scale: int, seed: int
) -> None:
    real = np.array([r for r, _, _ in drawn])
    lowest = np.array([low for _, low, _ in drawn], np.int64)
    highest = lowest + np.array([width for _, _, width in drawn], np.int64)
    steps = fully_connected_steps(real, zero_point, (-128, 127), lowest, highest)
    solution = solve(steps, real, np.zeros(len(real)), zero_point, scale)
    if solution is None:
        return
    rng = np.random.default_rng(seed)
    for c in range(len(drawn)):
        acc = accumulators(int(lowest[c]), int(highest[c]), rng)
        expected = np.clip(reference_round(acc, real[c]) + zero_point, -128, 127).astype(np.int64)
        channel_solution = type(solution)(
            solution.multiplier[c],
            solution.offset[c],
            solution.rounding,
            solution.shift,
            scale,
            solution.two_sided,
        )
        np.testing.assert_array_equal(channel_solution.apply(acc), expected)


@pytest.mark.parametrize("bias", [2**30, -(2**30), 97_720_839])
def test_constant_channels_get_a_bias_that_can_be_scaled(bias: int) -> None:
    pairs = [quantize_multiplier(s) for s in (1e-3, 2e-7)]
    multiplier, shift = (np.array(v, np.int64) for v in zip(*pairs, strict=True))
    lowest, highest = np.array([-50_000, bias]), np.array([50_000, bias + 3])
    steps = convolution_steps(multiplier, shift, -128, (-128, 127), lowest, highest)
    assert steps is not None
    real = multiplier * 2.0 ** (shift - 31)
    frozen_steps, frozen = freeze_constant(steps, real, -128)
    assert frozen.tolist() == [False, True]
    solution = solve(frozen_steps, real, twice_rounded_offset(multiplier), -128, 8)
    assert solution is not None
    acc = frozen_steps.lowest[1]
    expected = np.clip(round_twice(np.array(bias), multiplier[1], shift[1]) - 128, -128, 127)
    assert solution.apply(np.array([0, acc]))[1] == expected


def test_steps_of_no_affine_function_have_no_solution() -> None:
    """The accumulators at which the output changes are random, so no affine function has these steps."""
    levels = np.arange(-127, 128, dtype=np.int64)
    first = np.sort(np.random.default_rng(1).integers(-50_000, 50_000, (1, 255)), axis=1)
    steps = OutputSteps(levels, first, np.array([-60_000]), np.array([60_000]))
    assert solve(steps, np.array([255 / 100_000]), np.zeros(1), 0, 8) is None
