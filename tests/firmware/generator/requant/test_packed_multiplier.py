"""A multiplier and its shift are packed into one word only if the scaling is exact for all accumulators."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.graph.quantized_arithmetic import quantize_multiplier, round_twice
from arenite.firmware.generator.requant.packed_multiplier import accumulator_bounds, pack
from tests.example_count import example_count


def unpack(word: int) -> tuple[int, int]:
    """Return multiplier and right shift, unpacked from a word as in ``ar_conv_output_s8``."""
    bits = word & 0xFFFFFFFF
    return ((bits >> 5) << 3) | 0x40000000, bits & 31


def outputs(acc: np.ndarray, multiplier: int, right_shift: int, zero: int) -> np.ndarray:
    """Return the int8 outputs of accumulators, requantized with double rounding."""
    return np.clip(round_twice(acc, np.array(multiplier), -np.array(right_shift)) + zero, -128, 127)


@settings(deadline=None, max_examples=example_count(60))
@given(
    scale=st.floats(2.0**-20, 0.9999),
    zero=st.integers(-128, 127),
    reach=st.integers(1, 60_000),
    bias=st.integers(-9, 9),
)
def test_a_packed_multiplier_gives_the_outputs_of_the_exact_one(
    scale: float, zero: int, reach: int, bias: int
) -> None:
    multiplier, shift = quantize_multiplier(scale)
    low, high = bias * reach - reach, bias * reach + reach
    words = pack(
        np.array([multiplier]),
        np.array([shift]),
        np.array([low]),
        np.array([high]),
        np.arange(-127, 128) - zero,
    )
    if words is None:
        return
    acc = np.arange(low, high + 1)
    unpacked_multiplier, right_shift = unpack(int(words[0]))
    assert right_shift == -shift
    assert np.array_equal(
        outputs(acc, multiplier, -shift, zero), outputs(acc, unpacked_multiplier, right_shift, zero)
    )


def test_most_channels_of_ordinary_layers_are_packed() -> None:
    rng = np.random.default_rng(0)
    packed = 0
    for _ in range(200):
        multiplier, shift = quantize_multiplier(float(np.exp(rng.uniform(np.log(1e-4), np.log(0.1)))))
        # The largest sum scales to about 320 outputs, so the outputs reach beyond both ends of int8.
        reach = np.array([int(40 / (multiplier * 2.0 ** (shift - 31)) * 8)])
        packed += (
            pack(np.array([multiplier]), np.array([shift]), -reach, reach, np.arange(-127, 128)) is not None
        )
    assert packed > 190


def test_a_channel_that_is_always_zero_is_packed_for_any_bias() -> None:
    bound = np.array([(1 << 31) - 2])
    words = pack(np.array([0]), np.array([0]), -bound, bound, np.arange(-127, 128))
    assert words is not None
    multiplier, right_shift = unpack(int(words[0]))
    acc = np.array([-int(bound[0]), 0, int(bound[0])])
    assert not round_twice(acc, np.array(multiplier), -np.array(right_shift)).any()


def test_scales_above_one_are_not_packed() -> None:
    multiplier, shift = quantize_multiplier(1.5)
    assert (
        pack(np.array([multiplier]), np.array([shift]), np.array([-9]), np.array([9]), np.arange(-127, 128))
        is None
    )


def test_multipliers_of_long_accumulators_are_not_packed() -> None:
    """If the accumulator uses all bits, dropping bits of the multiplier changes some output."""
    rng = np.random.default_rng(1)
    bound = np.array([(1 << 31) - 2])
    refused = 0
    for _ in range(50):
        multiplier, shift = quantize_multiplier(float(rng.uniform(3e-8, 6e-8)))
        refused += (
            pack(np.array([multiplier]), np.array([shift]), -bound, bound, np.arange(-127, 128)) is None
        )
    assert refused > 0


def test_accumulator_bounds_include_all_inputs_and_padding() -> None:
    weights = np.array([[1, -2, 3], [-4, 5, 6]])
    lowest, highest = accumulator_bounds(weights, 0, np.array([10, 20]), (-5, 250))
    assert lowest.tolist() == [10 - 5 - 500 - 15, 20 - 1000 - 25 - 30]
    assert highest.tolist() == [10 + 250 + 10 + 750, 20 + 20 + 1250 + 1500]
