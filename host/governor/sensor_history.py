"""Keep the measurements since the governor last moved a lever: means, noise, and missing sensors."""

from __future__ import annotations

import math
from collections import deque

from arenite.host.governor.interface import Limits, Observation

#: The longest time over which means are taken, in seconds.
WINDOW_S = 15.0
#: The smallest and the largest margin below a power budget, as a share of it.
MIN_MARGIN, MAX_MARGIN = 0.008, 0.022


def plausible_value(value: float | None, minimum: float, maximum: float) -> float | None:
    """Return ``value`` if it is finite and within the range, else None."""
    return value if value is not None and math.isfinite(value) and minimum <= value <= maximum else None


class SensorHistory:
    """The measurements since the last move of a lever, at most ``WINDOW_S`` long. ``interval_s``: seconds between
    observations. ``cycle_s``: seconds of a burst and its rest; power is averaged over complete cycles."""

    def __init__(self, interval_s: float, cycle_s: float = 0.0) -> None:
        self.interval_s = interval_s
        self._min_samples = max(1, math.ceil(cycle_s / interval_s))
        length = max(self._min_samples, int(WINDOW_S / interval_s), 2)
        self._watts: deque[float] = deque(maxlen=length)
        self._rates: deque[float] = deque(maxlen=length)
        self._latencies: deque[float] = deque(maxlen=length)
        self._temperatures: deque[float] = deque(maxlen=3)
        self._samples_since_move = 0
        self._last_watts: float | None = None
        self._last_celsius: float | None = None
        self._power_noise = 1e-4  # mean square of the relative noise of power
        self._temperature_noise = 0.04  # mean square of the noise of temperature in K²
        self._limits = Limits()
        self.had_power = self.had_temperature = False
        self.power_missing = self.temperature_missing = True
        # The latest measurements; None if there is none. ``watts`` may be a prediction.
        self.watts: float | None = None
        self.rate: float | None = None
        self.latency_ms: float | None = None
        self.celsius: float | None = None
        self.trip: float | None = None

    def add(self, observation: Observation, predicted_w: float | None, limits: Limits) -> None:
        """Add an observation. ``predicted_w`` is used if the power was not measured."""
        self._limits = limits
        measured_w = plausible_value(observation.power_w, 1e-3, 2000.0)
        self.power_missing = measured_w is None
        self.had_power |= measured_w is not None
        self.watts = measured_w if measured_w is not None else predicted_w
        self.rate = plausible_value(observation.fps, 0.0, 1e5) or 0.0
        self.latency_ms = plausible_value(observation.latency_ms, 0.0, 1e7)
        self.celsius = plausible_value(observation.temperature_c, -40.0, 150.0)
        self.temperature_missing = self.celsius is None
        self.had_temperature |= self.celsius is not None
        if plausible_value(observation.trip_c, 20.0, 150.0) is not None:
            self.trip = observation.trip_c
        if self.celsius is not None:
            self._temperatures.append(self.celsius)
            if self._last_celsius is not None:
                step = self.celsius - self._last_celsius
                self._temperature_noise += 0.03 * (min(step**2 / 2, 4.0) - self._temperature_noise)
            self._last_celsius = self.celsius
        self._samples_since_move += 1
        if self._samples_since_move < 2:  # the interval in which the lever was moved belongs to both settings
            self._last_watts = None
            return
        if self.watts is not None:
            if measured_w is not None and self._last_watts and self._samples_since_move > 2:
                step = (measured_w - self._last_watts) / self._last_watts
                self._power_noise += 0.03 * (min(step**2 / 2, 0.01) - self._power_noise)
            self._last_watts = measured_w
            self._watts.append(self.watts)
        self._rates.append(self.rate)
        if self.latency_ms is not None:
            self._latencies.append(self.latency_ms)

    def moved(self) -> None:
        """Delete the measurements, which belong to the previous setting. The caller has moved a lever."""
        self._samples_since_move = 0
        self._watts.clear()
        self._rates.clear()
        self._latencies.clear()

    def begin(self) -> None:
        """Count the first interval as an interval of one setting, because no frame was processed before it."""
        self._samples_since_move = 1

    @property
    def settled_samples(self) -> int:
        """Return the number of samples of the present setting; 0 until a complete cycle was measured."""
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
    def mean_celsius(self) -> float | None:
        """Return the mean of the last three temperatures; None before the first temperature."""
        return sum(self._temperatures) / len(self._temperatures) if self._temperatures else None

    @property
    def noise(self) -> float:
        """Return the relative standard deviation of one sample of power, from successive differences."""
        return math.sqrt(self._power_noise)

    @property
    def noise_k(self) -> float:
        """Return the standard deviation of one sample of temperature in kelvins, from successive differences."""
        return math.sqrt(self._temperature_noise)

    @property
    def margin(self) -> float:
        """Return the margin below the budget, as a share of the budget. It is large enough that single noisy samples
        stay below the budget too."""
        return min(MAX_MARGIN, max(MIN_MARGIN, 0.004 + 1.5 * self.noise))

    @property
    def sensor_missing(self) -> bool:
        """Return whether the sensor of a limit is missing. In this case the governor does not raise quality."""
        power = self._limits.power_w is not None and self.power_missing
        heat = self._limits.temperature_c is not None and self.temperature_missing
        return power or heat

    @property
    def note(self) -> str:
        """Return a text about a missing sensor, or ""."""
        if self._limits.power_w is not None and self.power_missing:
            return "power cannot be read: no setting is raised" + (
                "" if self.had_power else ", and the budget is not kept"
            )
        if self._limits.temperature_c is not None and self.temperature_missing:
            return "temperature cannot be read: no setting is raised"
        return ""
