"""The figures of a queue, whichever way they are computed: shares of time, waits, drops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite.errors import UsageError
from arenite.host.duty.events import Floats, positive

PERCENTILES = (50.0, 90.0, 95.0, 99.0)


@dataclass(frozen=True)
class Sleep:
    """The sleep of the device: it stays awake for ``linger_s`` after its last event; then waking takes
    ``wake_s`` before a service starts."""

    wake_s: float = 0.0
    linger_s: float = 0.0

    def __post_init__(self) -> None:
        positive("time to wake", self.wake_s, zero=True)
        positive("time awake after an event", self.linger_s, zero=True)


@dataclass(frozen=True)
class Queueing:
    """Long-run figures of one device that serves events in their order.

    ``utilisation``, ``waking``, ``lingering`` and ``sleeping`` are shares of time that add up to 1. A wait
    lasts from an event to the start of its service, waking included; dropped events have none.
    ``queue_mean``: events waiting on average, by Little's law (accepted rate × mean wait).
    """

    method: str
    offered: float  # event rate × mean service time; above 1 the device cannot serve all
    utilisation: float
    waking: float
    lingering: float
    sleeping: float
    wakes_per_s: float
    served_per_s: float
    dropped: float  # share of events that found no place
    wait_mean_s: float
    wait_percentiles_s: dict[float, float]
    notes: tuple[str, ...] = ()

    @property
    def queue_mean(self) -> float:
        return self.served_per_s * self.wait_mean_s


def checked_percentiles(percentiles: Sequence[float]) -> tuple[float, ...]:
    """The percentiles as floats in 0 < p < 100. Raises ``UsageError``."""
    for p in percentiles:
        if not 0 < positive("percentile", p) < 100:
            raise UsageError(f"A percentile is between 0 and 100, not {p:g}.")
    return tuple(map(float, percentiles))


def places(queue: int | None) -> int | None:
    """The checked number of waiting places; None: no limit. Raises ``UsageError``."""
    if queue is not None and (isinstance(queue, bool) or not isinstance(queue, int) or queue < 0):
        raise UsageError(f"The queue must be a whole number of places or none, not {queue!r}.")
    return queue


def unstable(offered: float) -> UsageError:
    return UsageError(
        f"The device cannot keep up: its utilisation would be {offered:.3g}, so waits grow without end.",
        "Shorten the service, choose fewer events, or limit the queue to see how many are dropped.",
    )


def lattice_percentiles(masses: Floats, step: float, percentiles: Sequence[float]) -> dict[float, float]:
    """Percentiles of a distribution with ``masses[i]`` near ``i * step``, each spread evenly over its step."""
    cumulative = np.cumsum(masses)
    cumulative /= cumulative[-1]
    # Cell i reaches from (i - ½) to (i + ½) steps; no cell is below 0.
    right = (np.arange(masses.size) + 0.5) * step
    # Up to half of the first cell is the chance of no wait at all, which is not spread.
    return {
        p: 0.0 if p / 100 <= cumulative[0] else float(np.interp(p / 100, cumulative, right))
        for p in percentiles
    }


def split(values: Floats, weights: Floats, step: float, size: int) -> Floats:
    """Masses of ``weights`` at ``values`` on a lattice, each shared by its two neighbours so that the mean stays."""
    where = values / step
    low = np.floor(where + 1e-9).astype(np.int64)
    part = np.clip(where - low, 0.0, 1.0)
    out = np.bincount(low, weights * (1 - part), size) + np.bincount(low + 1, weights * part, size)
    return np.asarray(out[:size], np.float64)
