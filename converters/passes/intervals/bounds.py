"""Lowest and highest value of each channel of an int8 tensor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.model import Tensor
from arenite.converters.graph.quantized_arithmetic import INTEGER_RANGE

LOW, HIGH = INTEGER_RANGE["int8"]


@dataclass(frozen=True)
class Bounds:
    """Every element of channel c (the last axis) is in [low[c], high[c]] for all inputs of the model.

    Both are int64 of shape [channels], quantized values, low <= high.
    """

    low: np.ndarray
    high: np.ndarray

    @property
    def constant(self) -> np.ndarray:
        """bool [channels]: the channel has the single value ``low`` at every position, for all inputs."""
        value: np.ndarray = self.low == self.high
        return value

    def clamp(self, low: int, high: int) -> Bounds:
        return Bounds(np.clip(self.low, low, high), np.clip(self.high, low, high))

    def join(self, other: Bounds) -> Bounds:
        """Return the smallest bounds that contain both."""
        return Bounds(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def spread(self, channels: int) -> Bounds:
        """The bounds broadcast along the last axis, from one channel to ``channels``."""
        shape = (channels,)
        return Bounds(np.broadcast_to(self.low, shape), np.broadcast_to(self.high, shape))


def is_analyzed(t: Tensor) -> bool:
    """Return whether the analysis covers ``t``: int8, with a last axis and one scale."""
    return t.dtype == "int8" and len(t.shape) > 0 and t.elements > 0


def is_quantized(*tensors: Tensor) -> bool:
    """Return whether each tensor has one scale and one zero point, so that scaling its values is defined."""
    return all(t.quant is not None and len(t.quant.scale) == 1 for t in tensors)


def channels_of(t: Tensor) -> int:
    return t.shape[-1]


def unknown(t: Tensor) -> Bounds:
    """Any int8."""
    count = channels_of(t)
    return Bounds(np.full(count, LOW, np.int64), np.full(count, HIGH, np.int64))


def of_constant(t: Tensor) -> Bounds:
    """Return the bounds of a constant's own values."""
    assert t.data is not None
    rows = t.data.astype(np.int64).reshape(-1, channels_of(t))
    return Bounds(rows.min(axis=0), rows.max(axis=0))
