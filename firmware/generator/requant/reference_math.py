"""Compute the integer and float arithmetic of TFLite's reference kernels in Python, for tables that are computed at
build time.

Float functions come from the C library through ctypes: NumPy's own float32 functions differ in the last bit.
Sources: gemmlowp's fixed-point functions, TFLite's internal/common.h and quantization_util.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import math
from collections.abc import Callable

import numpy as np

from arenite.errors import ToolError

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


@functools.cache
def _libm() -> ctypes.CDLL:
    name = ctypes.util.find_library("m")
    if name is None:
        raise ToolError("The C mathematics library (libm) was not found.", "Install the C library's runtime.")
    return ctypes.CDLL(name)


@functools.cache
def libm(name: str) -> Callable[[float | np.float32], np.float32]:
    """Return a float32 function of one argument from the C library, such as ``expf``, ``tanhf`` or ``erfcf``."""
    function = getattr(_libm(), name)
    function.argtypes, function.restype = [ctypes.c_float], ctypes.c_float
    return lambda x: np.float32(function(float(x)))


def wrap32(x: int) -> int:
    """Return ``x`` modulo 2**32 as int32, like unsigned arithmetic in C."""
    return (x + 2**31) % 2**32 - 2**31


def high_mul(a: int, b: int, bits: int = 32) -> int:
    """Return a * b / 2**(bits - 1) rounded to nearest, saturating: gemmlowp's SaturatingRoundingDoublingHighMul."""
    low = -(1 << (bits - 1))
    if a == low and b == low:
        return -low - 1
    product = a * b
    nudge = 1 << (bits - 2) if product >= 0 else 1 - (1 << (bits - 2))
    total = product + nudge
    return total >> (bits - 1) if total >= 0 else -(-total >> (bits - 1))


def round_shift(x: int, exponent: int) -> int:
    """Return x / 2**exponent rounded to nearest, ties away from zero: gemmlowp's RoundingDivideByPOT."""
    mask = (1 << exponent) - 1
    return (x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0))


def requant(x: int, multiplier: int, shift: int) -> int:
    """Return x * multiplier * 2**(shift - 31), rounded twice: TFLite's MultiplyByQuantizedMultiplier."""
    return round_shift(high_mul(wrap32(x << max(shift, 0)), multiplier), max(-shift, 0))


def round_float(x: np.float32) -> np.float32:
    """Return ``x`` rounded like C's ``roundf``: ties away from zero. NaN and infinity do not change."""
    if not math.isfinite(x):
        return x
    return np.float32(math.copysign(math.floor(abs(float(x)) + 0.5), x))


def float_to_int32(x: float) -> int:
    """Return ``x`` as an int32, converted like C on x86: towards zero, and the smallest int32 for NaN and values that
    do not fit."""
    if not math.isfinite(x) or not -(2.0**31) <= math.trunc(x) < 2.0**31:
        return INT32_MIN
    return math.trunc(x)


def log2_if_power_of_two(x: float) -> int | None:
    """Return the exponent of ``x`` if TFLite considers it a power of two (CheckedLog2), otherwise None."""
    log = libm("logf")
    exponent = np.float32(log(x) * (np.float32(1) / log(2.0)))
    rounded = round_float(exponent)
    return int(rounded) if abs(np.float32(exponent - rounded)) < np.float32(1e-3) else None
