"""A multiplier that is proven for all reachable sums scales with the same results as a double."""

from __future__ import annotations

import ctypes
import math
import subprocess
from pathlib import Path

import numpy as np

from arenite.firmware.generator.requant.single_rounding import (
    first_reaching,
    proven_multipliers,
    real_scales,
    reference_round,
)
from arenite.firmware.sources import ENGINE


def c_round(x: float) -> int:
    """Return what C's ``round`` returns, computed in a different way than in the tested code."""
    return int(math.copysign(math.floor(abs(x) + 0.5), x)) if abs(x) < 2**50 else int(x)


def device(acc: np.ndarray, multiplier: int, shift: int) -> np.ndarray:
    """Return the scaled accumulators, computed as in the kernels' ``ar_requant_once``."""
    total = 31 - shift
    return (acc.astype(object) * multiplier + (1 << (total - 1))) >> total


def test_reference_round_equals_that_of_c() -> None:
    rng = np.random.default_rng(0)
    acc = rng.integers(-(2**20), 2**20, 2000)
    for scale in (0.5, 0.25, 1 / 6, 0.1, 3.0, 2.0**-21, float(rng.random())):
        actual = reference_round(acc, np.array(scale))
        assert actual.tolist() == [c_round(int(a) * scale) for a in acc]


def test_first_reaching_returns_the_smallest_accumulator_of_each_level() -> None:
    levels = np.arange(-255, 256)
    for scale in (0.5, 1 / 6, 0.3, 0.0173, 1.7, 40.0):
        first = first_reaching(levels, np.array([scale]))[0]
        assert all(c_round(int(a) * scale) >= k for a, k in zip(first, levels, strict=True))
        assert all(c_round(int(a - 1) * scale) < k for a, k in zip(first, levels, strict=True))


def test_proven_multipliers_are_exact_for_every_accumulator() -> None:
    rng = np.random.default_rng(1)
    checked = 0
    for _ in range(200):
        scale = float(rng.choice([0.5, 0.125, 1 / 6, 1 / 3, 0.75, np.exp(rng.uniform(-9, 1))]))
        limit = int(rng.integers(10, 5000))
        low, high = -limit, int(rng.integers(1, 5000))
        zero = int(rng.integers(-128, 128))
        levels = np.arange(-127, 128) - zero
        multipliers = proven_multipliers(np.array([scale]), np.array([low]), np.array([high]), levels)
        if multipliers is None:
            continue
        checked += 1
        acc = np.arange(low, high + 1)
        expected = np.clip(reference_round(acc, np.array(scale)) + zero, -128, 127)
        actual = np.clip(device(acc, int(multipliers[0][0]), int(multipliers[1][0])) + zero, -128, 127)
        assert np.array_equal(expected.astype(np.int64), actual.astype(np.int64))
    assert checked >= 190


def test_many_channels_are_proven_in_blocks() -> None:
    count = 1300
    scales = np.linspace(0.001, 0.01, count)
    bound = np.full(count, 20_000)
    levels = np.arange(-127, 128)
    multipliers = proven_multipliers(scales, -bound, bound, levels)
    assert multipliers is not None
    for k in (0, 511, 512, 1299):
        alone = proven_multipliers(scales[k : k + 1], -bound[:1], bound[:1], levels)
        assert alone is not None
        assert (multipliers[0][k], multipliers[1][k]) == (alone[0][0], alone[1][0])


def test_there_is_no_multiplier_for_very_large_sums() -> None:
    """For sums up to 2^31, a multiplier of 31 bits cannot give all output steps."""
    scale, limit = 0.7e-7, 2**31 - 1
    levels = np.arange(-127, 128)
    assert proven_multipliers(np.array([scale]), np.array([-limit]), np.array([limit]), levels) is None


def test_real_scales_returns_mantissa_and_exponent_of_doubles() -> None:
    values = np.array([1.0, 0.1, 1 / 3, 2.0**-40, 123.456])
    mantissa, exponent = real_scales(values)
    assert all(2**52 <= m < 2**53 for m in mantissa.tolist())
    assert [
        math.ldexp(m, e) for m, e in zip(mantissa.tolist(), exponent.tolist(), strict=True)
    ] == values.tolist()


def test_scaling_on_the_device_equals_that_of_a_double(tmp_path: Path) -> None:
    library = tmp_path / "real_scale.so"
    source = str(ENGINE.path("real_scale.c"))
    subprocess.run(["gcc", "-std=c99", "-O1", "-shared", "-fPIC", source, "-o", str(library)], check=True)
    scale_real = ctypes.CDLL(str(library)).ar_scale_real
    scale_real.argtypes = [ctypes.c_int64, ctypes.c_uint64, ctypes.c_int]
    rng = np.random.default_rng(4)
    compared = ties = 0
    for _ in range(300):
        exact = rng.integers(1, 50) / rng.integers(1, 50) * 2.0 ** int(rng.integers(-20, 3))
        scale = float(exact if rng.random() < 0.7 else np.exp(rng.uniform(-40, 2)))
        (mantissa,), (exponent,) = real_scales(np.array([scale]))
        limit = min(2**53, 2**31 / scale)
        # Sums next to a step of the result, and random sums.
        steps = [int((int(k) + 0.5) / scale) + d for k in rng.integers(-200, 200, 20) for d in (-1, 0, 1)]
        anywhere = [int(rng.uniform(-limit, limit)) for _ in range(20)]
        for acc in steps + anywhere + [0, 1, -1]:
            if abs(acc) >= limit or abs(acc * scale) > 2**31 - 2:
                continue
            expected = c_round(acc * scale)
            ties += abs(acc * scale - math.trunc(acc * scale)) == 0.5
            compared += 1
            assert scale_real(acc, int(mantissa), int(exponent)) == expected, (acc, scale)
    assert compared > 10_000
    assert ties > 300
