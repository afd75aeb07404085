"""Join the samples of messages to stretches without a gap, and tell every gap and its cause."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.host.live.messages import Lost, Samples

#: The causes of gaps.
SENSOR, CONNECTION = "sensor", "connection"


@dataclass(frozen=True)
class Gap:
    """``count`` samples are missing from sample ``at`` on: the sensor lost them, or the connection had no room."""

    at: int
    count: int
    cause: str


class ContinuousSamples:
    """The newest samples without a gap, at most ``capacity`` of them.

    ``start`` is the index of the first one in ``values`` [samples, channels].
    """

    def __init__(self, channels: int, capacity: int) -> None:
        self._capacity = capacity
        self._lost: Lost | None = None
        self._has_begun = False
        self.start = 0
        self.values = np.zeros((0, channels), np.int16)

    @property
    def end(self) -> int:
        """The index after the last sample."""
        return self.start + len(self.values)

    def lost(self, message: Lost) -> None:
        """Remember which samples the sensor lost: the next ones tell how many are missing in all."""
        self._lost = message

    def add(self, message: Samples) -> Gap | None:
        """Append samples. If some are missing before them, forget all earlier ones and return the gap."""
        gap = None
        if not self._has_begun or message.at != self.end:
            if self._has_begun and message.at > self.end:
                missing = message.at - self.end
                is_lost = self._lost is not None and self._lost.at + self._lost.count > self.end
                gap = Gap(self.end, missing, SENSOR if is_lost else CONNECTION)
            self.start, self.values = message.at, message.values
            self._has_begun = True
        else:
            self.values = np.concatenate([self.values, message.values])
        if message.at >= self.end - len(message.values):
            self._lost = None
        excess = len(self.values) - self._capacity
        if excess > 0:
            self.values = self.values[excess:]
            self.start += excess
        return gap

    def between(self, start: int, end: int) -> np.ndarray | None:
        """Return the samples from ``start`` up to ``end``, or None if some of them are not here."""
        if start < self.start or end > self.end:
            return None
        return self.values[start - self.start : end - self.start]
