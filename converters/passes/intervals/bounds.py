"""The class for the lowest and highest value of each channel of an int8 tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from arenite.converters.graph.model import Tensor
from arenite.converters.graph.quantized_arithmetic import INTEGER_RANGE

LOW, HIGH = INTEGER_RANGE["int8"]


@dataclass(frozen=True)
class Bounds:
    """Every element of channel c (index c of the last axis) is in [low[c], high[c]] for all inputs of the model.

    ``low`` and ``high`` are int64 [channels] and hold quantized values, with low <= high.
    """

    low: np.ndarray
    high: np.ndarray

    @property
    def constant(self) -> np.ndarray:
        """Whether each channel has the same value (``low``) at every position and for all inputs: bool [channels]."""
        return cast(np.ndarray, self.low == self.high)

    def clamp(self, low: int, high: int) -> Bounds:
        """Return the bounds after every element was clamped to [low, high]."""
        return Bounds(np.clip(self.low, low, high), np.clip(self.high, low, high))

    def join(self, other: Bounds) -> Bounds:
        """Return the smallest bounds that contain these bounds and ``other``."""
        return Bounds(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def spread(self, channels: int) -> Bounds:
        """Return the bounds of one channel, repeated for ``channels`` channels. Bounds of ``channels`` channels are
        returned unchanged."""
        shape = (channels,)
        return Bounds(np.broadcast_to(self.low, shape), np.broadcast_to(self.high, shape))


def is_analyzed(t: Tensor) -> bool:
    """Return whether the analysis covers ``t``: an int8 tensor that is neither a scalar nor empty."""
    return t.dtype == "int8" and len(t.shape) > 0 and t.elements > 0


def is_quantized(*tensors: Tensor) -> bool:
    """Return whether each tensor has one scale and one zero point, so that scaling its values is defined."""
    return all(t.quant is not None and len(t.quant.scale) == 1 for t in tensors)


def channels_of(t: Tensor) -> int:
    """Return the number of channels: the size of the last axis."""
    return t.shape[-1]


def full_bounds(t: Tensor) -> Bounds:
    """Return bounds of -128 and 127 for every channel of ``t``."""
    count = channels_of(t)
    return Bounds(np.full(count, LOW, np.int64), np.full(count, HIGH, np.int64))


def constant_bounds(t: Tensor) -> Bounds:
    """Return the smallest and largest value of each channel of a constant."""
    assert t.data is not None
    rows = t.data.astype(np.int64).reshape(-1, channels_of(t))
    return Bounds(rows.min(axis=0), rows.max(axis=0))
