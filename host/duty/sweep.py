"""Compute battery life and power for the same events at shorter and longer times between them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from arenite.errors import UsageError
from arenite.host.duty.battery import BatteryLife, Regulator, battery_life
from arenite.host.duty.events import Events, PeriodicEvents, PoissonEvents, RecordedEvents
from arenite.host.duty.model import PowerStates, queueing
from arenite.host.duty.service import ServiceTimes
from arenite.profiles.batteries import Battery


@dataclass(frozen=True)
class SweepPoint:
    """The figures for one mean time between events, ``period_s``. ``days`` is None without a battery."""

    period_s: float
    power_w: float
    utilization: float
    dropped: float
    days: float | None


def scale_period(events: Events, factor: float) -> Events:
    """Return the same events with ``factor`` times the time between them."""
    if isinstance(events, PeriodicEvents):
        return PeriodicEvents(events.period_s * factor)
    if isinstance(events, PoissonEvents):
        return PoissonEvents(events.rate_hz / factor)
    return RecordedEvents(tuple(t * factor for t in events.times_s), events.duration_s * factor)


def sweep(
    events: Events,
    service: ServiceTimes,
    queue: int | None,
    power: PowerStates,
    battery: Battery | None,
    regulator: Regulator,
    celsius: float,
    points: int = 41,
    decades: float = 2.0,
) -> list[SweepPoint]:
    """Return the figures for ``points`` mean times between events, from 10^-``decades`` to 10^``decades`` times that of
    ``events``. Times at which the device cannot keep up are left out."""
    results = []
    mean = 1 / events.rate_hz
    # The distribution of the wait is not needed. For an unlimited queue, a fixed service time of the mean gives the
    # same shares.
    fixed = service if queue is not None else replace(service, times_s=(service.mean_s,))
    for k in range(points):
        factor = 10 ** (decades * (2 * k / (points - 1) - 1))
        try:
            q = queueing(scale_period(events, factor), fixed, queue, power.sleep, (50.0,))
        except UsageError:
            continue
        watts = sum(power.parts_w(q.sleeping, q.utilization, q.lingering, q.wakes_per_s).values())
        days = None
        if battery is not None:
            life: BatteryLife = battery_life(battery, watts, max(power.highest_w, watts), regulator, celsius)
            days = life.days
        if math.isfinite(watts):
            results.append(SweepPoint(mean * factor, watts, q.utilization, q.dropped, days))
    return results
