"""The firmware's own arithmetic functions, which replace those that small compiler libraries lack, give the results of
this computer's hardware."""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess

import numpy as np
import pytest

from arenite.firmware.sources import BOARDS

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
CASES = 200_000
#: The names of GCC's functions, without the leading underscores.
INTEGER = [
    "udivsi3",
    "umodsi3",
    "divsi3",
    "modsi3",
    "muldi3",
    "umulsidi3",
    "udivdi3",
    "umoddi3",
    "divdi3",
    "moddi3",
]
FLOAT = ["addsf3", "subsf3", "mulsf3", "divsf3", "floatsisf", "floatunsisf", "fixsfsi", "fixunssfsi"]
# C code that applies a function to each element of arrays, so that Python makes only one call.
_DRIVER = """
#include <stdint.h>
#define MAP2(name, type, result) \\
    result our_##name(type, type); \\
    void map_##name(const type *a, const type *b, result *out, int n) \\
    { for (int i = 0; i < n; i++) out[i] = our_##name(a[i], b[i]); }
#define MAP1(name, type, result) \\
    result our_##name(type); \\
    void map_##name(const type *a, result *out, int n) { for (int i = 0; i < n; i++) out[i] = our_##name(a[i]); }
MAP2(addsf3, uint32_t, uint32_t) MAP2(subsf3, uint32_t, uint32_t)
MAP2(mulsf3, uint32_t, uint32_t) MAP2(divsf3, uint32_t, uint32_t)
MAP1(floatsisf, int32_t, uint32_t) MAP1(floatunsisf, uint32_t, uint32_t)
MAP1(fixsfsi, uint32_t, int32_t) MAP1(fixunssfsi, uint32_t, uint32_t)
MAP2(udivsi3, uint32_t, uint32_t) MAP2(umodsi3, uint32_t, uint32_t)
MAP2(divsi3, int32_t, int32_t) MAP2(modsi3, int32_t, int32_t)
MAP2(muldi3, int64_t, int64_t) MAP2(umulsidi3, uint32_t, uint64_t)
MAP2(udivdi3, uint64_t, uint64_t) MAP2(umoddi3, uint64_t, uint64_t)
MAP2(divdi3, int64_t, int64_t) MAP2(moddi3, int64_t, int64_t)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Compile the functions for this computer, renamed from ``__NAME`` to ``our_NAME``."""
    folder = tmp_path_factory.mktemp("arithmetic")
    (folder / "driver.c").write_text(_DRIVER)
    renamed = [f"-D__{name}=our_{name}" for name in INTEGER + FLOAT]
    sources = [str(BOARDS.path(name)) for name in ("divide.c", "soft_float.c")] + [str(folder / "driver.c")]
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *renamed]
    subprocess.run(["gcc", *flags, "-o", str(folder / "arithmetic.so"), *sources], check=True)
    return ctypes.CDLL(str(folder / "arithmetic.so"))


def apply(library: ctypes.CDLL, name: str, result: type, *arguments: np.ndarray) -> np.ndarray:
    """Call the function ``name`` for each element of the arguments, and return the results with the type ``result``."""
    out: np.ndarray = np.empty(len(arguments[0]), result)
    function = getattr(library, f"map_{name}")
    function(
        *[ctypes.c_void_p(np.ascontiguousarray(a).ctypes.data) for a in arguments],
        ctypes.c_void_p(out.ctypes.data),
        len(out),
    )
    return out


def float_bits(seed: int) -> np.ndarray:
    """Return bit patterns of floats, uint32: random patterns, floats near 1, very small floats and special values."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**32, CASES, dtype=np.uint32)
    near = rng.integers(0x3F000000, 0x41000000, CASES, dtype=np.uint32)
    tiny = rng.integers(0, 0x01000000, CASES, dtype=np.uint32)
    special = rng.choice(
        np.array([0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000], np.uint32), CASES
    )
    kind = rng.integers(0, 4, CASES)
    chosen = np.choose(kind, [bits, near, tiny, special]).astype(np.uint32)
    return chosen ^ (rng.integers(0, 2, CASES).astype(np.uint32) << np.uint32(31))


@pytest.mark.parametrize(
    ("name", "operation"),
    [("addsf3", np.add), ("subsf3", np.subtract), ("mulsf3", np.multiply), ("divsf3", np.divide)],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_float_operations_equal_those_of_the_hardware(
    library: ctypes.CDLL, name: str, operation: np.ufunc, seed: int
) -> None:
    a, b = float_bits(2 * seed), float_bits(2 * seed + 1)
    actual = apply(library, name, np.uint32, a, b)
    with np.errstate(all="ignore"):
        expected = operation(a.view(np.float32), b.view(np.float32))
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(actual.view(np.float32)), nan)
    assert np.array_equal(actual[~nan], expected.view(np.uint32)[~nan])


def test_integers_become_floats_as_in_hardware(library: ctypes.CDLL) -> None:
    rng = np.random.default_rng(3)
    values = np.concatenate(
        [rng.integers(0, 2**32, CASES, dtype=np.uint32), np.arange(2**24 - 500, 2**24 + 500, dtype=np.uint32)]
    )
    values = np.concatenate([values >> np.uint32(shift) for shift in (0, 5, 13, 31)])
    assert np.array_equal(
        apply(library, "floatunsisf", np.uint32, values), values.astype(np.float32).view(np.uint32)
    )
    signed = values.view(np.int32)
    assert np.array_equal(
        apply(library, "floatsisf", np.uint32, signed), signed.astype(np.float32).view(np.uint32)
    )


def test_floats_become_integers_towards_zero(library: ctypes.CDLL) -> None:
    bits = float_bits(9)
    with np.errstate(invalid="ignore"):
        values = bits.view(np.float32).astype(np.float64)
    integers_as_float = np.trunc(np.nan_to_num(values, nan=0.0, posinf=1e30, neginf=-1e30))
    signed = np.clip(integers_as_float, -(2.0**31), 2.0**31 - 1).astype(np.int64).astype(np.int32)
    unsigned = np.clip(integers_as_float, 0, 2.0**32 - 1).astype(np.uint64).astype(np.uint32)
    assert np.array_equal(apply(library, "fixsfsi", np.int32, bits), signed)
    assert np.array_equal(apply(library, "fixunssfsi", np.uint32, bits), unsigned)


def integers(seed: int, bits: int, signed: bool, nonzero: bool = False) -> list[int]:
    """Return random integers of up to ``bits`` bits with all magnitudes, including the extreme values."""
    rng = random.Random(seed)
    top = [2**bits - 1, 2 ** (bits - 1), 2 ** (bits - 1) - 1, 1]
    values = top + [rng.getrandbits(rng.randrange(1, bits + 1)) for _ in range(20_000)]
    if nonzero:
        values = [value or 1 for value in values]
    rng.shuffle(values)
    return [v - 2**bits if signed and v >= 2 ** (bits - 1) else v for v in values]


@pytest.mark.parametrize("name", INTEGER)
def test_integers_are_exact(library: ctypes.CDLL, name: str) -> None:
    bits = 32 if name.endswith("si3") or name == "umulsidi3" else 64
    signed = not name.startswith("u")
    kind = np.dtype(f"{'i' if signed else 'u'}{bits // 8}")
    result = np.dtype("u8") if name == "umulsidi3" else kind
    dividing = "div" in name or "mod" in name
    a, b = integers(1, bits, signed), integers(2, bits, signed, nonzero=dividing)
    actual = apply(library, name, result.type, np.array(a, kind), np.array(b, kind))
    mask = 2 ** (8 * result.itemsize) - 1

    def exact(x: int, y: int) -> int:
        if "mul" in name:
            return x * y
        quotient = abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)
        return quotient if "div" in name else x - quotient * y

    assert [int(v) & mask for v in actual] == [exact(x, y) & mask for x, y in zip(a, b, strict=True)]
