"""Predict queueing, power and battery life of a device that sleeps between events."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from arenite.errors import UsageError
from arenite.host.duty.battery import BatteryLife, Regulator, battery_life
from arenite.host.duty.events import Events, PeriodicEvents, PoissonEvents, RecordedEvents, check_positive
from arenite.host.duty.finite_queue import finite_queue
from arenite.host.duty.periodic_events import periodic_queue, replay
from arenite.host.duty.poisson_queue import unlimited_queue
from arenite.host.duty.queue_figures import PERCENTILES, Queueing, Sleep, checked_percentiles, checked_places
from arenite.host.duty.service import ServiceTimes
from arenite.profiles.batteries import Battery, load_battery

SCHEMA = "arenite.duty/1"


@dataclass(frozen=True)
class PowerStates:
    """The power of the device in each state, at the device's supply pins, without the losses of a regulator.

    Attributes:
        sleep_w: power asleep, including all parts that are always on.
        active_w: power while the device serves an event.
        wake_s: time from an event that arrives while the device sleeps to the start of its service.
        wake_j: energy of waking up. None: ``active_w`` for ``wake_s``.
        enter_j: energy of falling asleep once. The time for it is neglected.
        linger_s: time that the device stays awake after its last event.
        linger_w: power during ``linger_s``. None: ``active_w``.
        peak_w: short peak that the supply must be able to give. None: the highest power of a state.
    """

    sleep_w: float
    active_w: float
    wake_s: float = 0.0
    wake_j: float | None = None
    enter_j: float = 0.0
    linger_s: float = 0.0
    linger_w: float | None = None
    peak_w: float | None = None

    def __post_init__(self) -> None:
        _ = self.sleep  # checks wake_s and linger_s
        check_positive("power asleep in W", self.sleep_w, zero=True)
        check_positive("power while active in W", self.active_w)
        check_positive("energy of falling asleep in J", self.enter_j, zero=True)
        for name, value in (("energy of waking in J", self.wake_j), ("power awake in W", self.linger_w)):
            if value is not None:
                check_positive(name, value, zero=True)
        if self.sleep_w > self.active_w:
            raise UsageError(
                f"The device would take {self.sleep_w:g} W asleep, more than the {self.active_w:g} W awake.",
                "Give both powers in W, and check that they are not exchanged.",
            )
        if self.peak_w is not None and check_positive("peak power in W", self.peak_w) < self.active_w:
            raise UsageError(
                f"The peak power of {self.peak_w:g} W is below the active power of {self.active_w:g} W."
            )

    @property
    def sleep(self) -> Sleep:
        return Sleep(self.wake_s, self.linger_s)

    @property
    def waking_j(self) -> float:
        return self.active_w * self.wake_s if self.wake_j is None else self.wake_j

    @property
    def lingering_w(self) -> float:
        return self.active_w if self.linger_w is None else self.linger_w

    @property
    def highest_w(self) -> float:
        waking = self.waking_j / self.wake_s if self.wake_s else 0.0
        return max(self.peak_w or 0.0, self.active_w, self.lingering_w, waking)

    def parts_w(
        self, sleeping: float, utilization: float, lingering: float, wakes_per_s: float
    ) -> dict[str, float]:
        """Return the contribution of each state to the average power in W, from shares of time and the rate of waking.
        Their sum is the average power."""
        return {
            "sleep": self.sleep_w * sleeping,
            "active": self.active_w * utilization,
            "linger": self.lingering_w * lingering,
            "transitions": (self.waking_j + self.enter_j) * wakes_per_s,
        }


@dataclass(frozen=True)
class Prediction:
    """Queueing figures, average power (W, at the device's supply) by state, and battery life if there is a battery."""

    queueing: Queueing
    power_w: float
    parts_w: dict[str, float]
    peak_w: float
    energy_per_event_j: float  # total energy, sleep included, per served event; inf if none is served
    battery: str | None
    life: BatteryLife | None
    warnings: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the prediction as JSON, with times in s. The keys of percentiles are "p50" and so on."""
        q, life = self.queueing, self.life
        return {
            "schema": SCHEMA,
            "kind": "estimated",
            "method": q.method,
            "offered": q.offered,
            "utilisation": q.utilization,
            "shares": {
                "active": q.utilization,
                "waking": q.waking,
                "lingering": q.lingering,
                "sleeping": q.sleeping,
            },
            "wakes_per_s": q.wakes_per_s,
            "served_per_s": q.served_per_s,
            "dropped": q.dropped,
            "queue_mean": q.queue_mean,
            "wait_s": {"mean": q.wait_mean_s, **{f"p{p:g}": v for p, v in q.wait_percentiles_s.items()}},
            "power_w": self.power_w,
            "power_parts_w": self.parts_w,
            "peak_w": self.peak_w,
            "energy_per_event_j": self.energy_per_event_j if math.isfinite(self.energy_per_event_j) else None,
            "battery": None
            if life is None
            else {
                "name": self.battery,
                "life_s": life.life_s,
                "life_days": life.days,
                "average_ma": life.average_ma,
                "peak_ma": life.peak_ma if math.isfinite(life.peak_ma) else None,
                "usable": life.usable,
                "self_discharged": life.self_discharged,
                "lowest_v": life.lowest_v if math.isfinite(life.lowest_v) else None,
                "ends_by": life.ends_by,
                "assumed": list(life.assumed),
            },
            "notes": list(q.notes),
            "warnings": list(self.warnings),
        }


def queueing(
    events: Events,
    service: ServiceTimes,
    queue: int | None,
    sleep: Sleep,
    percentiles: Sequence[float] = PERCENTILES,
) -> Queueing:
    """Return the queueing figures for these events, service times and queue (see docs/duty-cycle.md)."""
    if isinstance(events, PoissonEvents):
        if queue is None:
            return unlimited_queue(events.rate_hz, service, sleep, percentiles)
        return finite_queue(events.rate_hz, service, sleep, queue, percentiles)
    if isinstance(events, PeriodicEvents):
        return periodic_queue(events.period_s, service, sleep, queue, percentiles)
    if isinstance(events, RecordedEvents):
        return replay(events, service, sleep, queue, percentiles)
    raise UsageError(
        f"Events must be PeriodicEvents, PoissonEvents or RecordedEvents, not {type(events).__name__}."
    )


def predict(
    events: Events,
    service_s: float | Iterable[float] | ServiceTimes,
    queue: int | None,
    power: PowerStates,
    battery: Battery | str | None = None,
    *,
    regulator: Regulator = Regulator(),  # noqa: B008
    celsius: float = 20.0,
    percentiles: Sequence[float] = PERCENTILES,
) -> Prediction:
    """Return the predicted waits, drops, power and battery life of a duty cycle.

    Args:
        events: the arrival times of the events.
        service_s: seconds per event: a fixed time or measured times.
        queue: waiting places besides the event in service; 0 for none, None for no limit.
        power: the power of the device in each state.
        battery: a battery profile or its name; None: do not compute a battery life.
        regulator: the regulator between the battery and the device.
        celsius: temperature of the battery.
        percentiles: percentiles of the wait to compute.

    Raises:
        UsageError: a value is out of range, or the device cannot keep up with an unlimited queue.
        ProfileError: the battery is unknown.
    """
    service = ServiceTimes.of(service_s)
    queue_result = queueing(
        events, service, checked_places(queue), power.sleep, checked_percentiles(percentiles)
    )
    parts = power.parts_w(
        queue_result.sleeping, queue_result.utilization, queue_result.lingering, queue_result.wakes_per_s
    )
    average = sum(parts.values())
    warnings = []
    if queue_result.dropped > 0.01:
        warnings.append(
            f"{100 * queue_result.dropped:.3g} % of the events find the queue full and are dropped."
        )
    profile = load_battery(battery) if isinstance(battery, str) else battery
    life = None
    if profile is not None:
        life = battery_life(profile, average, max(power.highest_w, average), regulator, celsius)
        warnings += life.warnings
    return Prediction(
        queueing=queue_result,
        power_w=average,
        parts_w=parts,
        peak_w=power.highest_w,
        energy_per_event_j=average / queue_result.served_per_s if queue_result.served_per_s else math.inf,
        battery=None if profile is None else profile.name,
        life=life,
        warnings=tuple(warnings),
    )
