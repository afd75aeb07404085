"""The low-rank covariance of the anomaly head in NumPy. All bytes equal those of ``low_rank.c``, which explains the
method."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arenite.converters.anomaly.plan import BITS, MAX_U32, AnomalyPlan

_MAX_VALUE = 32767
_MAX_COMPONENT = 1 << 23
_MIN_VARIANCE = 256
_HALF = 1 << 29


def divided(embedding: np.ndarray, state: Any, floor: int) -> np.ndarray:
    """Return the deviations of an int8 embedding divided by the standard deviations, with 8 fractional bits, as
    int64 [size]."""
    deviation = (embedding.reshape(-1).astype(np.int64) << BITS) - state["mean"]
    variance = (state["variance"].astype(np.int64) + floor) & MAX_U32
    roots = np.array([math.isqrt(int(v) << BITS) for v in variance], np.int64)
    values: np.ndarray = np.clip(((deviation << 8) + (roots >> 1)) // roots, -_MAX_VALUE, _MAX_VALUE)
    return values


def score(values: np.ndarray, state: Any, plan: AnomalyPlan) -> int:
    """Return the score of divided values with 16 fractional bits."""
    rest, known, total, directions = int(values @ values), 0, 0, 0
    for component in _components(state, plan).astype(np.int64):
        square = int(component @ component)
        variance = square >> BITS
        if variance < _MIN_VARIANCE:
            break
        along = _quotient(int(values @ component) * 256, math.isqrt(square))
        energy = along * along
        total += energy // variance
        rest -= min(energy >> BITS, rest)
        known += variance
        directions += 1
    everything = int(state["trace"]) * plan.size
    left = max(everything - known, 0) // (plan.size - directions)
    total += (rest << BITS) // max(left, _MIN_VARIANCE)
    return min(total // plan.size, MAX_U32)


def learn(values: np.ndarray, state: Any, plan: AnomalyPlan, n: int) -> None:
    """Learn divided values, the ``n``-th ones, into trace and components of ``state``, whose mean and variances have
    learned them already."""
    one, others = 1 << 60, int(state["count"]) - 1
    part = one // n
    of_new, of_old = math.isqrt(part + part // others), math.isqrt(one - part)
    square, trace = int(values @ values) // plan.size, int(state["trace"])
    energy = square + square // others
    state["trace"] = trace + (energy - trace + (n >> 1)) // n
    rows = np.concatenate([_components(state, plan).astype(np.int64) * of_old, values[None] * (256 * of_new)])
    rows = (rows + _HALF) >> 30
    for k in range(plan.head.rank):
        for j in range(k + 1, plan.head.rank + 1):
            _rotate(rows, k, j)
    state["components"] = rows[:-1].reshape(-1)


def _components(state: Any, plan: AnomalyPlan) -> np.ndarray:
    components: np.ndarray = state["components"].reshape(plan.head.rank, plan.size)
    return components


def _quotient(value: int, divisor: int) -> int:
    """Return the quotient rounded towards zero, as C does."""
    return value // divisor if value >= 0 else -(-value // divisor)


def _rotate(rows: np.ndarray, i: int, j: int) -> None:
    """Rotate two rows in their plane so that they are orthogonal, and the first one is at least as long."""
    x, y = rows[i], rows[j]
    apart, twice = int(x @ x) - int(y @ y), 2 * int(x @ y)
    while max(abs(apart), abs(twice)) >= 1 << 30:
        apart >>= 1
        twice >>= 1
    hypotenuse = math.isqrt(apart * apart + twice * twice)
    if hypotenuse == 0 or (twice == 0 and apart >= 0):
        return
    half_sine = _quotient(twice << 29, hypotenuse)
    root = math.isqrt(((hypotenuse + abs(apart)) << 29) // hypotenuse << 30)
    smaller = _quotient(half_sine << 30, root)
    cosine, sine = root, smaller
    if apart < 0:
        cosine, sine = abs(smaller), -root if smaller < 0 else root
    first = (x * cosine + y * sine + _HALF) >> 30
    second = (y * cosine - x * sine + _HALF) >> 30
    rows[i], rows[j] = (np.clip(row, -_MAX_COMPONENT, _MAX_COMPONENT) for row in (first, second))
