"""A channel whose requantization in float32 is called exact gives LiteRT's output for every reachable accumulator."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.quantized_arithmetic import quantize_multiplier, round_twice
from arenite.firmware.generator.requant.affine import OutputSteps, convolution_steps, fully_connected_steps
from arenite.firmware.generator.requant.float_affine import solve_float
from arenite.firmware.generator.requant.single_rounding import reference_round
from tests.firmware.generator.requant.random_sums import accumulators, random_layer


@pytest.mark.parametrize("zero_point", [-128, -3, 0, 127])
@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.slow
def test_exact_channels_of_a_convolution_are_exact(zero_point: int, two_sided: bool) -> None:
    rng = np.random.default_rng([zero_point + 128, two_sided])
    exact = 0
    for _ in range(12):
        real, lowest, highest = random_layer(rng)
        multiplier, shift = np.array([quantize_multiplier(float(s)) for s in real], np.int64).T
        steps = convolution_steps(multiplier, shift, zero_point, (-128, 127), lowest, highest)
        assert steps is not None
        solution = solve_float(steps, multiplier * 2.0 ** (shift - 31.0), zero_point, two_sided)
        acc = accumulators(lowest, highest, rng)
        expected = np.clip(round_twice(acc, multiplier, shift) + zero_point, -128, 127)
        equal = (np.clip(solution.apply(acc), -128, 127) == expected).all(axis=0)
        assert equal[solution.exact].all()
        exact += int(solution.exact.sum())
    assert exact > 100


def test_exact_channels_of_a_fully_connected_layer_are_exact() -> None:
    rng = np.random.default_rng(4)
    for _ in range(12):
        real, lowest, highest = random_layer(rng)
        steps = fully_connected_steps(real, 7, (-128, 127), lowest, highest)
        solution = solve_float(steps, real, 7, two_sided=True)
        acc = accumulators(lowest, highest, rng)
        expected = np.clip(reference_round(acc, real) + 7, -128, 127)
        equal = (np.clip(solution.apply(acc), -128, 127) == expected).all(axis=0)
        assert solution.exact.sum() > 12 and equal[solution.exact].all()


def test_negative_accumulators_need_their_own_term_where_ties_round_away_from_zero() -> None:
    """Every second accumulator is a tie."""
    lowest, highest = np.array([-250]), np.array([250])
    multiplier, shift = (np.array([v], np.int64) for v in quantize_multiplier(0.25))
    steps = convolution_steps(multiplier, shift, 3, (-128, 127), lowest, highest)
    assert steps is not None
    assert not solve_float(steps, np.array([0.25]), 3).exact.any()
    solution = solve_float(steps, np.array([0.25]), 3, two_sided=True)
    acc = np.arange(-250, 251)[:, None]
    assert solution.exact.all() and solution.add[0] != solution.add_negative[0]
    expected = np.clip(round_twice(acc, multiplier, shift) + 3, -128, 127)
    np.testing.assert_array_equal(np.clip(solution.apply(acc), -128, 127), expected)


def test_steps_of_no_affine_function_are_not_exact() -> None:
    levels = np.arange(-127, 128, dtype=np.int64)
    first = np.sort(np.random.default_rng(1).integers(-50_000, 50_000, (1, 255)), axis=1)
    steps = OutputSteps(levels, first, np.array([-60_000]), np.array([60_000]))
    assert not solve_float(steps, np.array([255 / 100_000]), 0).exact.any()


def test_sums_that_float32_cannot_round_are_not_exact() -> None:
    """The largest product is beyond the numbers that the kernels can round."""
    lowest, highest = np.array([-(2**31)]), np.array([2**31 - 1])
    steps = fully_connected_steps(np.array([0.25]), 0, (-128, 127), lowest, highest)
    assert not solve_float(steps, np.array([0.25]), 0).exact.any()
