"""Scaling accumulators as LiteRT does, for whole arrays; every function never decreases as the accumulator grows."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.quantized_arithmetic import quantize_multiplier


def multipliers(reals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``quantize_multiplier`` of each real scale (>= 0): int64 multipliers and shifts."""
    pairs = [quantize_multiplier(float(r)) for r in reals]
    return np.array([m for m, _ in pairs], np.int64), np.array([s for _, s in pairs], np.int64)


def fits(acc: np.ndarray, shift: np.ndarray | int) -> bool:
    """Return whether ``acc`` fits LiteRT's int32 also after the shift to the left, so that nothing wraps."""
    return bool(np.all(np.abs(acc) << np.maximum(shift, 0) < 1 << 31))


def round_once(acc: np.ndarray, real: np.ndarray) -> np.ndarray:
    """round(double(acc) * real), ties away from zero, as FULLY_CONNECTED scales: int64."""
    product = np.clip(acc.astype(np.float64) * real, -(2.0**40), 2.0**40)
    whole = np.trunc(product)
    value: np.ndarray = (whole + np.where(np.abs(product - whole) >= 0.5, np.sign(product), 0.0)).astype(
        np.int64
    )
    return value
