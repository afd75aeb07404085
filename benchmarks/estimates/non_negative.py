"""Non-negative least squares, by the active set method of Lawson and Hanson (1974)."""

from __future__ import annotations

import numpy as np


def non_negative(a: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the x >= 0 with the smallest sum of squares of a @ x - y. ``a`` is [rows, columns], ``y`` [rows]."""
    scale = np.linalg.norm(a, axis=0)
    scale[scale == 0] = 1
    scaled = a / scale
    columns = a.shape[1]
    x, is_free = np.zeros(columns), np.zeros(columns, bool)
    for _ in range(10 * columns):
        gradient = scaled.T @ (y - scaled @ x)
        gradient[is_free] = 0
        best = int(np.argmax(gradient))
        if gradient[best] <= 1e-10:
            break
        is_free[best] = True
        while True:
            trial = np.zeros(columns)
            trial[is_free] = np.linalg.lstsq(scaled[:, is_free], y, rcond=None)[0]
            negative = is_free & (trial <= 0)
            if not negative.any():
                x = trial
                break
            step = float(np.min(x[negative] / np.maximum(x[negative] - trial[negative], 1e-300)))
            x += step * (trial - x)
            is_free &= x > 1e-14
            x[~is_free] = 0
            if not is_free.any():
                break
    return x / scale
