"""The steps before a tree ensemble that change each feature on its own, such as a scaler.

A tree compares ``f(x)`` with a threshold, where ``f`` is the result of the steps for the feature ``x``. ``f`` is
monotonic, so a comparison of ``x`` with another threshold gives the same result, and the steps need no code on the
device. The new threshold is found by a binary search among all float32 numbers, with ``f`` computed in float32 as ONNX
Runtime does, so that the comparison is the same for every float32 ``x``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: The keys (``keys_of``) of the negative and the positive infinity.
_LOWEST, _HIGHEST = -0x7F800001, 0x7F800000


@dataclass(frozen=True)
class FeatureStep:
    """The function ``(x + before) * factor + after`` of the features ``x``, or ``(x + before) / factor + after`` if
    ``divide``. ``before``, ``factor`` and ``after`` have one value per feature."""

    before: np.ndarray
    factor: np.ndarray
    after: np.ndarray
    divide: bool = False

    def apply(self, values: np.ndarray, feature: np.ndarray) -> np.ndarray:
        """Return the results of this step for float32 ``values``. ``feature`` has the index of each value's feature."""
        before, factor, after = (
            a.astype(np.float32)[feature] for a in (self.before, self.factor, self.after)
        )
        with np.errstate(all="ignore"):
            shifted = values + before
            result: np.ndarray = (shifted / factor if self.divide else shifted * factor) + after
        return result


def thresholds_before(
    steps: Sequence[FeatureStep], feature: np.ndarray, threshold: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (new thresholds for the features before ``steps``, bool: whether the node must swap its children).

    ``feature``, ``threshold`` and both results have one value per node of the trees. ``feature`` is the index of the
    feature that the node compares. ``x <= new threshold`` gives the same result as ``f(x) <= threshold``, or the
    opposite result if the node must swap its children.
    """
    if not steps:
        return threshold, np.zeros(len(feature), bool)
    sign = np.ones(len(feature))
    for step in steps:
        sign *= np.sign(step.factor[feature])

    def holds(keys: np.ndarray) -> np.ndarray:
        """Return whether ``f(x) <= threshold`` for the float32 ``x`` with each key."""
        values = values_of(keys)
        for step in steps:
            values = step.apply(values, feature)
        result: np.ndarray = values <= threshold
        return result

    falling = sign < 0
    # Invariant: the comparison gives the same result at ``low`` as at minus infinity, and the other result at ``high``.
    low, high = np.full(len(feature), _LOWEST, np.int64), np.full(len(feature), _HIGHEST, np.int64)
    while (high - low > 1).any():
        middle = (low + high) // 2
        at_lower_end = holds(middle) != falling
        low, high = np.where(at_lower_end, middle, low), np.where(at_lower_end, high, middle)
    # With a factor of 0, f is constant. Every x is <= infinity, so the node always takes the same child.
    constant = sign == 0
    new = np.where(constant, _HIGHEST, low)
    swaps = np.where(constant, ~holds(np.zeros(len(feature), np.int64)), falling)
    return values_of(new), swaps


def keys_of(values: np.ndarray) -> np.ndarray:
    """Return an integer for each of the float32 ``values``. The integers have the same order as the numbers."""
    bits = np.ascontiguousarray(values, np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -1 - (bits & 0x7FFFFFFF), bits)


def values_of(keys: np.ndarray) -> np.ndarray:
    """Return the float32 numbers with the keys ``keys``."""
    bits = np.where(keys < 0, (-1 - keys) | 0x80000000, keys)
    return bits.astype(np.uint32).view(np.float32)


def float32_at_most(values: np.ndarray, *, below: np.ndarray) -> np.ndarray:
    """Return, for each of ``values``, the largest float32 number that is not greater, or that is less if ``below`` is
    true for the value."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    too_large = (rounded.astype(np.float64) > values) | (below & (rounded.astype(np.float64) == values))
    lower = values_of(np.maximum(keys_of(rounded) - 1, _LOWEST))
    # The number before 0 is -0 in this order, but -0 is not less than 0.
    lower = np.where(rounded == 0, np.nextafter(np.float32(0), np.float32(-1)), lower)
    result = np.where(too_large, lower, rounded)
    return np.where(result == 0, np.float32(0), result).astype(np.float32)
