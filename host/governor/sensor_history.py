"""What the governor has seen since it last moved a lever: means, noise, and which sense is missing."""

from __future__ import annotations

import math
from collections import deque

from arenite.host.governor.interface import Limits, Observation

#: Seconds over which means are taken, at most.
WINDOW_S = 15.0
#: Margin below a power budget, as parts of it: at least and at most.
MIN_MARGIN, MAX_MARGIN = 0.008, 0.022


def plausible_value(value: float | None, least: float, most: float) -> float | None:
    """``value`` when it can be."""
    return value if value is not None and math.isfinite(value) and least <= value <= most else None


class SensorHistory:
    """``cycle_s``: of bursts and rests; power means something only over whole ones."""

    def __init__(self, interval_s: float, cycle_s: float = 0.0) -> None:
        self.interval_s = interval_s
        self._min_samples = max(1, math.ceil(cycle_s / interval_s))
        length = max(self._min_samples, int(WINDOW_S / interval_s), 2)
        self._watts: deque[float] = deque(maxlen=length)
        self._rates: deque[float] = deque(maxlen=length)
        self._latencies: deque[float] = deque(maxlen=length)
        self._heat: deque[float] = deque(maxlen=3)
        self._samples_since_move = 0
        self._last_watts: float | None = None
        self._last_celsius: float | None = None
        self._relative = 1e-4  # mean square of the relative noise of power
        self._kelvin = 0.04
        self._limits = Limits()
        self.ever_power = self.ever_heat = False
        self.blind_power = self.blind_heat = True
        self.watts: float | None = None
        self.rate: float | None = None
        self.latency_ms: float | None = None
        self.celsius: float | None = None
        self.trip: float | None = None

    def add(self, seen: Observation, believed_w: float | None, limits: Limits) -> None:
        """``believed_w`` stands in for a power that is not measured_w."""
        self._limits = limits
        measured_w = plausible_value(seen.power_w, 1e-3, 2000.0)
        self.blind_power = measured_w is None
        self.ever_power |= measured_w is not None
        self.watts = measured_w if measured_w is not None else believed_w
        self.rate = plausible_value(seen.fps, 0.0, 1e5) or 0.0
        self.latency_ms = plausible_value(seen.latency_ms, 0.0, 1e7)
        self.celsius = plausible_value(seen.temperature_c, -40.0, 150.0)
        self.blind_heat = self.celsius is None
        self.ever_heat |= self.celsius is not None
        if plausible_value(seen.trip_c, 20.0, 150.0) is not None:
            self.trip = seen.trip_c
        if self.celsius is not None:
            self._heat.append(self.celsius)
            if self._last_celsius is not None:
                step = self.celsius - self._last_celsius
                self._kelvin += 0.03 * (min(step**2 / 2, 4.0) - self._kelvin)
            self._last_celsius = self.celsius
        self._samples_since_move += 1
        if self._samples_since_move < 2:  # the interval of the move is half of each setting
            self._last_watts = None
            return
        if self.watts is not None:
            if measured_w is not None and self._last_watts and self._samples_since_move > 2:
                step = (measured_w - self._last_watts) / self._last_watts
                self._relative += 0.03 * (min(step**2 / 2, 0.01) - self._relative)
            self._last_watts = measured_w
            self._watts.append(self.watts)
        self._rates.append(self.rate)
        if self.latency_ms is not None:
            self._latencies.append(self.latency_ms)

    def moved(self) -> None:
        """A lever was moved: what was seen before is of another setting."""
        self._samples_since_move = 0
        self._watts.clear()
        self._rates.clear()
        self._latencies.clear()

    @property
    def settled(self) -> int:
        """Samples of the present setting, 0 until a whole cycle is seen."""
        return len(self._rates) if len(self._rates) >= self._min_samples else 0

    @property
    def mean_watts(self) -> float | None:
        return sum(self._watts) / len(self._watts) if self._watts else None

    @property
    def mean_rate(self) -> float:
        return sum(self._rates) / len(self._rates) if self._rates else 0.0

    @property
    def mean_latency(self) -> float | None:
        return sum(self._latencies) / len(self._latencies) if self._latencies else None

    @property
    def warmest(self) -> float | None:
        """Mean of the last three temperatures; None before the first."""
        return sum(self._heat) / len(self._heat) if self._heat else None

    @property
    def noise(self) -> float:
        """Relative standard deviation of one sample of power, by successive differences."""
        return math.sqrt(self._relative)

    @property
    def noise_k(self) -> float:
        """Standard deviation of one temperature, likewise."""
        return math.sqrt(self._kelvin)

    @property
    def margin(self) -> float:
        """Below the budget, so that the noise of single seconds stays below it too."""
        return min(MAX_MARGIN, max(MIN_MARGIN, 0.004 + 1.5 * self.noise))

    @property
    def blind(self) -> bool:
        """A limit is set whose sensor is silent: nothing is raised then."""
        power = self._limits.power_w is not None and self.blind_power
        heat = self._limits.temperature_c is not None and self.blind_heat
        return power or heat

    @property
    def note(self) -> str:
        if self._limits.power_w is not None and self.blind_power:
            return "power is not read: no setting is raised" + (
                "" if self.ever_power else ", the budget is not kept"
            )
        if self._limits.temperature_c is not None and self.blind_heat:
            return "temperature is not read: no setting is raised"
        return ""
