"""Integrate readings of power to joules, and count the time that was measured, estimated, or not recorded."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from arenite.errors import DeviceError
from arenite.host.energy.base import ESTIMATED, MEASURED, Power, PowerMeter


@dataclass(frozen=True, slots=True)
class Energy:
    """An amount of energy. ``seconds``: the time with readings of power. ``measured_s``: the part of it with measured
    readings. ``gap_s``: further time without readings, which adds no joules."""

    joules: float
    seconds: float
    gap_s: float
    measured_s: float

    @property
    def mean_w(self) -> float | None:
        """Return the mean power in watts; None before the first interval."""
        return self.joules / self.seconds if self.seconds > 0 else None

    @property
    def kind(self) -> str:
        """Return "measured" if every interval was measured, else "estimated"."""
        return MEASURED if self.seconds > 0 and self.measured_s >= self.seconds else ESTIMATED


class EnergyMeter:
    """Integrates the readings of a power meter. Each reading is the mean since the previous one (``PowerMeter``), so
    energy is power times the interval.

    An interval longer than ``max_interval_s`` (the computer slept, the loop hung) or without a reading is a gap.
    """

    def __init__(
        self, meter: PowerMeter, max_interval_s: float = 10.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.meter = meter
        self._max_interval = max_interval_s
        self._clock = clock
        self._last = clock()
        self._joules = self._seconds = self._gap = self._measured = 0.0
        self.latest: Power | None = None

    def sample(self, busy: float) -> Power | None:
        """Read the power, add its energy, and return the power. Return None if the sensor no longer answers; then the
        interval is a gap."""
        now = self._clock()
        interval, self._last = max(0.0, now - self._last), now
        try:
            power: Power | None = self.meter.read(busy)
        except DeviceError:
            power = None
        self.latest = power
        if power is None or interval > self._max_interval:
            self._gap += interval
            return power
        self._joules += power.watts * interval
        self._seconds += interval
        if power.kind == MEASURED:
            self._measured += interval
        return power

    def total(self) -> Energy:
        """Return the energy since this object was created."""
        return Energy(self._joules, self._seconds, self._gap, self._measured)
