"""Define the figures of a queue, which every method of computation returns: shares of time, waits, drops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite.errors import UsageError
from arenite.host.duty.events import Floats, check_positive

#: The percentiles of the wait that are computed by default.
PERCENTILES = (50.0, 90.0, 95.0, 99.0)


@dataclass(frozen=True)
class Sleep:
    """The sleep of the device. It stays awake for ``linger_s`` after its last event. After sleep it needs ``wake_s``
    before a service starts."""

    wake_s: float = 0.0
    linger_s: float = 0.0

    def __post_init__(self) -> None:
        check_positive("time to wake", self.wake_s, zero=True)
        check_positive("time awake after an event", self.linger_s, zero=True)


@dataclass(frozen=True)
class Queueing:
    """Long-run figures of one device that serves events in their order.

    ``utilization``, ``waking``, ``lingering`` and ``sleeping`` are shares of time that add up to 1. A wait
    lasts from an event to the start of its service, including the time to wake. Dropped events have no wait.
    ``queue_mean`` is the average number of waiting events, by Little's law (accepted rate × mean wait).
    """

    method: str
    offered: float  # event rate × mean service time; above 1 the device cannot serve all events
    utilization: float
    waking: float
    lingering: float
    sleeping: float
    wakes_per_s: float
    served_per_s: float
    dropped: float  # share of events that found the queue full
    wait_mean_s: float
    wait_percentiles_s: dict[float, float]
    notes: tuple[str, ...] = ()

    @property
    def queue_mean(self) -> float:
        return self.served_per_s * self.wait_mean_s


def checked_percentiles(percentiles: Sequence[float]) -> tuple[float, ...]:
    """Return the percentiles as floats. Raises ``UsageError`` unless each is between 0 and 100."""
    for p in percentiles:
        if not 0 < check_positive("percentile", p) < 100:
            raise UsageError(f"A percentile must be between 0 and 100, not {p:g}.")
    return tuple(map(float, percentiles))


def checked_places(queue: int | None) -> int | None:
    """Check the number of waiting places and return it. None means no limit. Raises ``UsageError``."""
    if queue is not None and (isinstance(queue, bool) or not isinstance(queue, int) or queue < 0):
        raise UsageError(f"The queue must be a whole number of places or none, not {queue!r}.")
    return queue


def overload_error(offered: float) -> UsageError:
    """Return the error for a device with an unlimited queue that would be busy for ``offered`` times the whole time."""
    return UsageError(
        f"The device cannot keep up: its utilization would be {offered:.3g}, so waits would never stop growing.",
        "Shorten the service, choose fewer events, or limit the queue to see how many are dropped.",
    )


def lattice_percentiles(masses: Floats, step: float, percentiles: Sequence[float]) -> dict[float, float]:
    """Return percentiles of a distribution on a lattice, by percentile. ``masses[i]`` is the weight near the time
    ``i * step``. It is spread evenly over a step."""
    cumulative = np.cumsum(masses)
    cumulative /= cumulative[-1]
    # Cell i reaches from (i - ½) to (i + ½) steps; no cell is below 0.
    right = (np.arange(masses.size) + 0.5) * step
    # Up to half of the first cell is the probability of no wait at all, which is not spread.
    return {
        p: 0.0 if p / 100 <= cumulative[0] else float(np.interp(p / 100, cumulative, right))
        for p in percentiles
    }


def split(values: Floats, weights: Floats, step: float, size: int) -> Floats:
    """Return the distribution with ``weights`` at ``values`` on a lattice, as one weight per step, shape (size,). Each
    weight is split between the two nearest lattice points, so the mean does not change."""
    position = values / step
    low = np.floor(position + 1e-9).astype(np.int64)
    part = np.clip(position - low, 0.0, 1.0)
    out = np.bincount(low, weights * (1 - part), size) + np.bincount(low + 1, weights * part, size)
    return np.asarray(out[:size], np.float64)
