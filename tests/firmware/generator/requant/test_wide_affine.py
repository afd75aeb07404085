"""If a requantization with a product of 64 bits is found, it gives the exact output for every reachable accumulator."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.quantized_arithmetic import quantize_multiplier, round_twice
from arenite.firmware.generator.requant.affine import (
    OutputSteps,
    convolution_steps,
    fully_connected_steps,
)
from arenite.firmware.generator.requant.single_rounding import reference_round
from arenite.firmware.generator.requant.wide_affine import solve_wide
from tests.firmware.generator.requant.random_sums import accumulators, random_layer


@pytest.mark.parametrize("zero_point", [-128, -3, 0, 127])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.slow
def test_a_convolution_is_exact(zero_point: int, relu: bool) -> None:
    rng = np.random.default_rng([zero_point + 128, relu])
    solved = two_sided = 0
    for _ in range(12):
        real, lowest, highest = random_layer(rng)
        multiplier, shift = np.array([quantize_multiplier(float(s)) for s in real], np.int64).T
        act = (zero_point, 127) if relu else (-128, 127)
        steps = convolution_steps(multiplier, shift, zero_point, act, lowest, highest)
        assert steps is not None
        solution = solve_wide(steps, multiplier * 2.0 ** (shift - 31.0), zero_point)
        if solution is None:
            continue
        solved += 1
        two_sided += solution.negative is not None
        acc = accumulators(lowest, highest, rng)
        expected = np.clip(round_twice(acc, multiplier, shift) + zero_point, *act)
        np.testing.assert_array_equal(np.clip(solution.apply(acc), *act), expected)
    assert solved == 12
    # Only outputs below the zero point that are not clamped depend on the sign.
    assert (two_sided > 0) == (not relu and -128 < zero_point < 127)


def test_a_fully_connected_layer_is_exact() -> None:
    rng = np.random.default_rng(4)
    for _ in range(12):
        real, lowest, highest = random_layer(rng)
        steps = fully_connected_steps(real, 7, (-128, 127), lowest, highest)
        solution = solve_wide(steps, real, 7)
        assert solution is not None
        acc = accumulators(lowest, highest, rng)
        expected = np.clip(reference_round(acc, real) + 7, -128, 127)
        np.testing.assert_array_equal(np.clip(solution.apply(acc), -128, 127), expected)


def test_the_offset_fits_64_bits_for_the_smallest_scales() -> None:
    lowest, highest = np.array([-(2**31)]), np.array([2**31 - 1])
    multiplier, shift = (np.array([v], np.int64) for v in quantize_multiplier(2.0**-25))
    steps = convolution_steps(multiplier, shift, 5, (-128, 127), lowest, highest)
    assert steps is not None
    solution = solve_wide(steps, np.array([2.0**-25]), 5)
    assert solution is not None
    acc = np.array([[-(2**31)], [-1], [0], [2**24], [2**31 - 1]])
    expected = np.clip(round_twice(acc, multiplier, shift) + 5, -128, 127)
    np.testing.assert_array_equal(np.clip(solution.apply(acc), -128, 127), expected)


def test_a_scale_of_a_half_and_above_has_no_solution() -> None:
    steps = fully_connected_steps(np.array([0.75]), 0, (-128, 127), np.array([-1000]), np.array([1000]))
    assert solve_wide(steps, np.array([0.75]), 0) is None


def test_steps_of_no_affine_function_have_no_solution() -> None:
    """The accumulators at which the output changes are random, so no affine function has these steps."""
    levels = np.arange(-127, 128, dtype=np.int64)
    first = np.sort(np.random.default_rng(1).integers(-50_000, 50_000, (1, 255)), axis=1)
    steps = OutputSteps(levels, first, np.array([-60_000]), np.array([60_000]))
    assert solve_wide(steps, np.array([255 / 100_000]), 0) is None
