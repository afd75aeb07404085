"""Scale arrays of accumulators as LiteRT does. A larger accumulator never gives a smaller result."""

from __future__ import annotations

from typing import cast

import numpy as np

from arenite.converters.graph.quantized_arithmetic import quantize_multiplier


def multipliers(reals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the multipliers and the shifts of ``quantize_multiplier`` for the real scales ``reals`` (>= 0), as two
    int64 arrays."""
    pairs = [quantize_multiplier(float(r)) for r in reals]
    return np.array([m for m, _ in pairs], np.int64), np.array([s for _, s in pairs], np.int64)


def fits(acc: np.ndarray, shift: np.ndarray | int) -> bool:
    """Return whether every value of ``acc`` fits into LiteRT's int32 after a shift to the left by ``shift``, if that is
    positive."""
    return bool(np.all(np.abs(acc) << np.maximum(shift, 0) < 1 << 31))


def round_once(acc: np.ndarray, real: np.ndarray) -> np.ndarray:
    """Return round(double(acc) * real), with ties away from zero, as int64. LiteRT's FULLY_CONNECTED scales this
    way."""
    # The limits of 2**40 are beyond every int32, and small enough for the conversion to int64.
    product = np.clip(acc.astype(np.float64) * real, -(2.0**40), 2.0**40)
    integer = np.trunc(product)
    rounded = integer + np.where(np.abs(product - integer) >= 0.5, np.sign(product), 0.0)
    return cast(np.ndarray, rounded.astype(np.int64))
