"""Random scales and sums of layers, for tests of requantizations."""

from __future__ import annotations

import numpy as np

_CHANNELS = 24


def random_layer(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scales and the bounds of the sums, like those of a trained layer."""
    real = 2.0 ** rng.uniform(-11, -1.1) * 2.0 ** rng.uniform(-4, 0, _CHANNELS)
    lowest = rng.integers(-300_000, 50_000, _CHANNELS)
    return real, lowest, lowest + rng.integers(0, 300_000, _CHANNELS)


def accumulators(lowest: np.ndarray, highest: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return both bounds, numbers near zero and random accumulators of each channel: int64 [30000, channels]."""
    acc = rng.integers(lowest, highest + 1, (30_000, len(lowest)))
    acc[0], acc[1] = lowest, highest
    acc[2:302] = np.clip(np.arange(-150, 150)[:, None], lowest, highest)
    return acc
