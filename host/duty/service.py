"""Describe the service time of an event: a fixed time, or a distribution of measured times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from arenite.errors import UsageError
from arenite.host.duty.events import Floats, check_positive

#: A longer list of measured times is replaced by this number of means of neighbouring times. The mean does not change.
MAX_POINTS = 256


@dataclass(frozen=True)
class ServiceTimes:
    """Equally likely service times in s. A list with one time is a fixed service time."""

    times_s: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.times_s:
            raise UsageError(
                "The list of service times is empty.", "Give seconds per event or measured times."
            )
        for time in self.times_s:
            check_positive("service time", time)

    @classmethod
    def of(cls, value: float | Iterable[float] | ServiceTimes) -> ServiceTimes:
        """Return service times from a number of seconds, from a list of measured seconds, or ``value`` itself if it is
        ``ServiceTimes``. Raises ``UsageError`` for other values."""
        if isinstance(value, ServiceTimes):
            return value
        if isinstance(value, (int, float, np.number)):
            return cls((check_positive("service time", float(value)),))
        try:
            times = tuple(sorted(float(v) for v in value))
        except (TypeError, ValueError) as error:
            raise UsageError(f"The service times are not seconds: {error}.") from error
        return cls(times[:1]) if times and times[0] == times[-1] else cls(times)

    @classmethod
    def lognormal(cls, mean_s: float, variation: float) -> ServiceTimes:
        """Return 256 equally likely quantiles with mean ``mean_s`` and coefficient of variation ``variation``.

        The quantiles cut off the end of the tail, so the variation is slightly smaller (2 % at 0.5).
        """
        check_positive("mean service time", mean_s)
        sigma = float(np.sqrt(np.log1p(check_positive("variation", variation) ** 2)))
        normal = NormalDist()
        points = np.exp(sigma * np.array([normal.inv_cdf((i + 0.5) / 256) for i in range(256)]))
        return cls(tuple((points * mean_s / points.mean()).tolist()))

    @cached_property
    def points(self) -> Floats:
        """Return at most ``MAX_POINTS`` equally likely times in s, ascending. They have the same mean as all times."""
        times = np.sort(np.asarray(self.times_s, dtype=np.float64))
        if times.size <= MAX_POINTS:
            return times
        # Means over equal shares of the sorted times, from their running sum. This keeps the mean exactly.
        running = np.concatenate(([0.0], np.cumsum(times)))
        edges = np.linspace(0, times.size, MAX_POINTS + 1)
        return np.diff(np.interp(edges, np.arange(times.size + 1), running)) * MAX_POINTS / times.size

    @property
    def fixed(self) -> bool:
        return len(self.times_s) == 1

    @property
    def mean_s(self) -> float:
        return float(np.mean(self.times_s))

    @property
    def square_s2(self) -> float:
        """Return the second moment E[S²] of the service time S in s²."""
        return float(np.mean(np.square(self.times_s)))

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw ``count`` independent service times in s."""
        if self.fixed:
            return np.full(count, self.times_s[0])
        return rng.choice(np.asarray(self.times_s), count)
