"""Compute the power that the governor aims at, from the power budget and from the thermal model."""

from __future__ import annotations

import math

from arenite.host.governor.interface import Limits
from arenite.host.governor.planner import PlanBounds
from arenite.host.governor.sensor_history import SensorHistory
from arenite.host.governor.thermal_model import ThermalForecast, ThermalModel

#: The predicted temperature must be below its limit after each of these times. The short times are for the chip, the
#: middle times for the warming case, and the last time is for the final temperature.
HORIZONS_S = (6.0, 12.0, 30.0, 60.0, 120.0, 300.0, 900.0)
#: Seconds between forecasts. A forecast does not change faster.
FORECAST_S = 5.0
#: Kelvins to stay below the temperature at which the device itself throttles.
BELOW_TRIP_K = 1.0
#: Relative widths of the band around the target in which no lever is moved.
POWER_DEAD_BAND, HEAT_DEAD_BAND = 0.005, 0.02
#: Time constant in seconds with which the margin below the budget falls from twice its size to its size. The margin is
#: larger at first because the costs are not learned yet.
LEARNING_S = 45.0
#: While the thermal model is untrained, the aim is 0.6 K lower. This extra distance fades over this number of samples.
TRAINING_SAMPLES = 200.0


class PowerTargets:
    """Computes the power to aim at in each step. ``forecast`` and ``target_w`` hold the values of the last step."""

    def __init__(self, limits: Limits, history: SensorHistory) -> None:
        self.limits = limits
        self.thermal = ThermalModel()
        self.forecast: ThermalForecast | None = None
        self.target_w: float | None = None
        self._history = history
        self._heat_w: float | None = None
        self._forecast_at = -math.inf

    def bounds(self, t_s: float) -> PlanBounds:
        """Return the power to aim at, the power to stay below, and the latency to stay below."""
        budget, latency = self.limits.power_w, self.limits.latency_ms
        targets, ceilings = [], []
        if budget is not None and self._history.had_power:
            margin = self._history.margin * (1 + math.exp(-t_s / LEARNING_S))
            targets.append(budget * (1 - margin))
            ceilings.append(budget * (1 - 0.4 * margin))
        heat = self._thermal_target_w(t_s)
        if heat is not None:
            targets.append(heat)
            ceilings.append(heat * 1.05)
        self.target_w = min(targets, default=None)
        return PlanBounds(
            self.target_w, min(ceilings, default=None), None if latency is None else 0.95 * latency
        )

    def bound_c(self) -> float | None:
        """Return the temperature to stay below: the lower of the limit and the device's trip point less one degree."""
        trip = None if self._history.trip is None else self._history.trip - BELOW_TRIP_K
        known = [value for value in (self.limits.temperature_c, trip) if value is not None]
        return min(known, default=None)

    def _thermal_target_w(self, t_s: float) -> float | None:
        """Return the power that the thermal model allows; None if there is no temperature limit or no thermometer."""
        bound, history = self.bound_c(), self._history
        if (
            bound is None
            or history.mean_watts is None
            or history.mean_celsius is None
            or not self.thermal.samples
        ):
            return None
        untrained = math.exp(-self.thermal.samples / TRAINING_SAMPLES)
        aim = bound - 0.4 - 0.6 * untrained - 2.0 * max(0.1, min(1.0, history.noise_k))
        if t_s - self._forecast_at >= FORECAST_S:
            self._forecast_at = t_s
            self.forecast = self.thermal.forecast(history.mean_watts, bound)
        allowed = min(1e4, self.thermal.allowed_power(history.mean_watts, aim, HORIZONS_S))
        # From 0.3 K below the limit on, power is lowered even if the model allows the present power.
        hot = history.mean_celsius >= bound - 0.3
        if hot:
            allowed = min(allowed, 0.88 * history.mean_watts)
        if self._heat_w is None or hot:
            self._heat_w = allowed
        else:  # follow a higher allowed power more slowly than a lower one
            share = 0.1 if allowed > self._heat_w else 0.4
            self._heat_w += share * (allowed - self._heat_w)
        return self._heat_w

    def budget_binds(self) -> bool:
        """Return whether the power target comes from the budget and not from the temperature."""
        budget = self.limits.power_w
        return budget is not None and self.target_w is not None and self.target_w > 0.93 * budget

    def dead_band(self) -> float:
        """Return the relative width of the band around the target in which no lever is moved."""
        return POWER_DEAD_BAND if self.budget_binds() else HEAT_DEAD_BAND
