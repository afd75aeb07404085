"""Describe the arrival times of sensor events: at a fixed period, random (Poisson), or recorded."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arenite.errors import UsageError

Floats = NDArray[np.float64]


def check_positive(name: str, value: float, zero: bool = False) -> float:
    """Return ``value`` as a float if it is finite and above 0 (or 0, if ``zero`` is set). Otherwise raise
    ``UsageError`` with ``name`` in its message."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise UsageError(f"The {name} must be a number, not {value!r}.", "Give a finite number.")
    if value < 0 or (value == 0 and not zero):
        raise UsageError(
            f"The {name} must be {'0 or more' if zero else 'above 0'}, not {value:g}.",
            "Check its sign and unit.",
        )
    return float(value)


#: The longest recording in seconds, 300 years. Sums of longer times lose the service times in rounding.
MAX_DURATION_S = 1e10


@dataclass(frozen=True)
class PeriodicEvents:
    """One event every ``period_s`` seconds."""

    period_s: float

    def __post_init__(self) -> None:
        check_positive("period of the events", self.period_s)

    @property
    def rate_hz(self) -> float:
        return 1 / self.period_s

    def arrivals(self, count: int, rng: np.random.Generator) -> Floats:
        """Return the first ``count`` arrival times in s, ascending."""
        return np.arange(1, count + 1, dtype=np.float64) * self.period_s


@dataclass(frozen=True)
class PoissonEvents:
    """Independent events with an average rate of ``rate_hz`` per second."""

    rate_hz: float

    def __post_init__(self) -> None:
        check_positive("rate of the events", self.rate_hz)

    def arrivals(self, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` arrival times in s, ascending, drawn from ``rng``."""
        return np.cumsum(rng.exponential(1 / self.rate_hz, count))


@dataclass(frozen=True)
class RecordedEvents:
    """Recorded arrival times in s, ascending and 0 or later. The recording repeats after ``duration_s``."""

    times_s: tuple[float, ...]
    duration_s: float

    def __post_init__(self) -> None:
        times = np.asarray(self.times_s, dtype=np.float64)
        if times.size == 0:
            raise UsageError("The trace has no events.", "Give at least one arrival time in seconds.")
        if not np.isfinite(times).all() or times[0] < 0 or (np.diff(times) < 0).any():
            raise UsageError("The trace's times must be finite, ascending and 0 or more.", "Sort them first.")
        check_positive("duration of the trace", self.duration_s)
        if self.duration_s > MAX_DURATION_S:
            raise UsageError(
                f"The trace lasts {self.duration_s:g} s, which is more than {MAX_DURATION_S:g} s.",
                "Check the unit and the clock of its times.",
            )
        if self.duration_s < times[-1]:
            raise UsageError(
                f"The trace lasts {self.duration_s:g} s, but its last event is at {times[-1]:g} s.",
                "Give the time from the recording's start to its end.",
            )

    @classmethod
    def recorded(cls, times_s: Iterable[float], duration_s: float | None = None) -> RecordedEvents:
        """Return the events of a recording with these arrival times in s. Without ``duration_s``, the recording lasts
        for the mean gap after the last event.

        Raises ``UsageError`` for no events, times out of order, or one event without a duration.
        """
        times = tuple(float(t) for t in times_s)
        if duration_s is None:
            if len(times) < 2 or times[-1] == times[0]:
                raise UsageError(
                    "A trace with a single event needs its duration.", "Give duration_s in seconds."
                )
            # Times out of order are an error of the class, whatever their duration.
            duration_s = max(times[-1], times[-1] + (times[-1] - times[0]) / (len(times) - 1), 1.0)
        return cls(times, duration_s)

    @property
    def rate_hz(self) -> float:
        return len(self.times_s) / self.duration_s

    def arrivals(self, count: int, rng: np.random.Generator) -> Floats:
        """Return the first ``count`` arrival times in s of the recording, which repeats without end."""
        times = np.asarray(self.times_s)
        rounds = -(-count // times.size)
        repeated = np.arange(rounds)[:, None] * self.duration_s + times[None, :]
        return np.asarray(repeated.ravel()[:count], np.float64)


Events = PeriodicEvents | PoissonEvents | RecordedEvents
