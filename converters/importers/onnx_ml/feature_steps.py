"""The steps before a tree ensemble that change each feature on its own, such as a scaler.

A tree compares ``f(x)`` with a threshold. ``f`` is monotonic, so the comparison equals one of ``x`` with another
threshold, and the steps need no code on the device. The new threshold is found by a binary search among all float32
numbers, with ``f`` computed in float32 as ONNX Runtime does, so that the comparison is the same for every float32
``x``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: The keys (``keys_of``) of the negative and the positive infinity.
_LOWEST, _HIGHEST = -0x7F800001, 0x7F800000


@dataclass(frozen=True)
class FeatureStep:
    """``(x + before) * factor + after``, where each is an array with one value per feature. If ``divide``, the sum is
    divided by ``factor``."""

    before: np.ndarray
    factor: np.ndarray
    after: np.ndarray
    divide: bool = False

    def apply(self, values: np.ndarray, feature: np.ndarray) -> np.ndarray:
        """Return float32 ``values`` of the features ``feature`` after this step."""
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
    """Return the thresholds of the features before ``steps``, and which nodes must swap their children.

    ``f(x) <= threshold`` holds exactly if ``x <= new`` does, or if it does not for a node that swaps its children.
    """
    if not steps:
        return threshold, np.zeros(len(feature), bool)
    sign = np.ones(len(feature))
    for step in steps:
        sign *= np.sign(step.factor[feature])

    def holds(keys: np.ndarray) -> np.ndarray:
        values = values_of(keys)
        for step in steps:
            values = step.apply(values, feature)
        result: np.ndarray = values <= threshold
        return result

    falling = sign < 0
    # Invariant: the comparison gives the result of the lower end at ``low`` and the other result at ``high``.
    low, high = np.full(len(feature), _LOWEST, np.int64), np.full(len(feature), _HIGHEST, np.int64)
    while (high - low > 1).any():
        middle = (low + high) // 2
        at_lower_end = holds(middle) != falling
        low, high = np.where(at_lower_end, middle, low), np.where(at_lower_end, high, middle)
    constant = sign == 0
    new = np.where(constant, _HIGHEST, low)
    swaps = np.where(constant, ~holds(np.zeros(len(feature), np.int64)), falling)
    return values_of(new), swaps


def keys_of(values: np.ndarray) -> np.ndarray:
    """Return integers with the order of float32 numbers."""
    bits = np.ascontiguousarray(values, np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -1 - (bits & 0x7FFFFFFF), bits)


def values_of(keys: np.ndarray) -> np.ndarray:
    """Return the float32 numbers with the keys ``keys``."""
    bits = np.where(keys < 0, (-1 - keys) | 0x80000000, keys)
    return bits.astype(np.uint32).view(np.float32)


def float32_at_most(values: np.ndarray, *, below: np.ndarray) -> np.ndarray:
    """Return the largest float32 number that is at most each of ``values``, or less than it where ``below``."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    too_large = (rounded.astype(np.float64) > values) | (below & (rounded.astype(np.float64) == values))
    lower = values_of(np.maximum(keys_of(rounded) - 1, _LOWEST))
    # The number before 0 is -0 in this order, but -0 is not less than 0.
    lower = np.where(rounded == 0, np.nextafter(np.float32(0), np.float32(-1)), lower)
    result = np.where(too_large, lower, rounded)
    return np.where(result == 0, np.float32(0), result).astype(np.float32)
