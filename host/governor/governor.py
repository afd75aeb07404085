"""The governor keeps power, temperature and latency within their limits, with as little loss of quality as possible.

Every second it takes an observation, updates its models (``cost_model``, ``thermal_model``), and requests a setting
from the planner if a limit is exceeded or if the limits allow a better setting. The allowed power is the lower of two
figures: the budget minus a margin for noise, and the power at which the thermal model predicts a temperature below the
limit. Quality is lowered at once. It is raised after a wait, which doubles each time that a raise was undone.
A lever is a control such as the frame rate or the model variant; "quality" stands for the best levels of all levers.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from arenite.errors import AreniteError
from arenite.host.governor.cost_model import LatencyModel, PowerModel, SettingSpace
from arenite.host.governor.interface import Action, Lever, Limits, Observation
from arenite.host.governor.planner import OperatingPoint, PlanBounds, Planner, Setting
from arenite.host.governor.power_targets import PowerTargets
from arenite.host.governor.sensor_history import MAX_MARGIN, SensorHistory
from arenite.host.governor.setting_selector import SettingSelector
from arenite.host.governor.thermal_model import ThermalForecast

#: Seconds without a change of a lever before a better setting is tried. They double when a raise is undone, up to
#: MAX_HOLD_S.
HOLD_S, MAX_HOLD_S = 6.0, 240.0
#: Seconds between searches for a better setting. If a limit is exceeded less than BLAME_S after a raise, the raise is
#: regarded as the cause.
RAISE_INTERVAL_S, BLAME_S = 3.0, 45.0
#: Seconds without a change of another lever than the frame rate before such a lever is raised.
QUALITY_HOLD_S = 40.0
#: The first setting is corrected without the usual wait during this number of seconds.
START_S = 20.0
#: The number of actions at the end of the log that ``state`` contains.
_LOG_TAIL = 50


class Governor:
    """The governor of one camera loop, or of another loop that repeats the same work.

    Args:
        limits: the limits to keep.
        levers: the levers in any order. The frame rate's lever is named ``fps``, and its labels are frames per second.
        interval_s: seconds between two calls of ``step``.
        idle_w: the idle power of the device in watts, if the host profile has it; None: learn it.
        max_w: the power at full load in watts, if the host profile has it; it determines the first setting under a
            power budget.
        item: what the loop repeats, for the reasons of the actions. All that is said of frames is true of it.
    """

    def __init__(
        self,
        limits: Limits,
        levers: Sequence[Lever],
        interval_s: float = 1.0,
        idle_w: float | None = None,
        max_w: float | None = None,
        item: str = "frame",
    ) -> None:
        self.limits = limits
        self.levers = list(levers)
        self.log: list[Action] = []
        self.note = ""  # the reason why a limit cannot be kept, or ""
        self._idle_w, self._max_w = idle_w, max_w
        self._item, self._unit = item, "fps" if item == "frame" else f"{item}s/s"
        self._space = SettingSpace(self.levers)
        self._power, self._latency = PowerModel(self._space, idle_w), LatencyModel(self._space)
        self._planner = Planner(self._space, self._power, self._latency)
        cycle = max((float(getattr(lever, "cycle_s", 0.0)) for lever in self.levers), default=0.0)
        self._history = SensorHistory(interval_s, cycle)
        self._targets = PowerTargets(limits, self._history)
        self._refused: set[int] = set()
        self._selector = SettingSelector(self._space, self._planner, self._refused)
        self._started = False
        self._last_move_s = self._last_raise_s = self._last_quality_move_s = self._last_search_s = -math.inf
        self._hold = HOLD_S
        self._recently_over: deque[bool] = deque(maxlen=2)
        self._starting = False  # True until the first setting was corrected

    @property
    def forecast(self) -> ThermalForecast | None:
        """Return the latest forecast of the temperature; None before the first forecast."""
        return self._targets.forecast

    def begin(self, t_s: float = 0.0) -> list[Action]:
        """Set the levers before the first frame and return the actions. With a power budget below the power at full
        load, the rate starts low, because the cost of a frame is only known after the first second."""
        self._started = True
        fps, budget = self._space.fps_index, self.limits.power_w
        if budget is None or fps is None:
            return []
        lever, share = self.levers[fps], 0.1
        if self._idle_w is not None and self._max_w is not None and self._max_w > self._idle_w:
            if self._max_w <= budget * (1 - 2 * MAX_MARGIN):
                return []
            self._starting = True
            # A heavy model keeps the device busy far below the full rate, so a share of the rate is not a share of
            # power.
            share = 0.4 * (0.9 * budget - self._idle_w) / (self._max_w - self._idle_w)
        low = next((level for level in range(lever.levels) if lever.cost(level) <= share), lever.levels - 1)
        new_levels = list(self._levels())
        new_levels[fps] = low
        reason = f"starts at a low rate because the cost of a {self._item} is not known yet"
        actions = self._apply(t_s, tuple(new_levels), reason)
        self._history.begin()
        return actions

    def step(self, observation: Observation) -> list[Action]:
        """Learn from ``observation`` and move levers where necessary. Returns the actions, including refused moves."""
        if not self._started:
            return self.begin(observation.t_s)
        history = self._history
        history.add(observation, self._predicted_watts(), self.limits)
        self._planner.requested_fps = max(self._planner.requested_fps, history.rate or 0.0)
        if history.watts is not None:
            self._targets.thermal.add(observation.t_s, history.watts, history.celsius)
        self._learn()
        first = self._correct_start(observation.t_s)
        if first:
            return first
        if history.settled_samples < 2 or history.mean_watts is None:
            return []
        bounds = self._targets.bounds(observation.t_s)
        now = OperatingPoint(self._levels(), history.mean_watts, history.mean_rate)
        reason = self._find_exceeded_limit(now, bounds)
        if reason:
            self._starting = False
            return self._lower_quality(observation.t_s, now, bounds, reason)
        return self._raise_quality(observation.t_s, now, bounds)

    def _correct_start(self, t_s: float) -> list[Action]:
        """Raise the first frame rate to the highest rate that keeps the power target even if the device draws the power
        of full load for the complete duration of each frame. Returns the actions; none if the measured power is above
        this worst case."""
        history, fps = self._history, self._space.fps_index
        if not self._starting or fps is None or self._idle_w is None or self._max_w is None:
            return []
        if t_s > START_S:
            self._starting = False
            return []
        if (
            history.settled_samples < 1
            or history.sensor_missing
            or history.watts is None
            or not history.latency_ms
        ):
            return []
        target = self._targets.bounds(t_s).target_w
        span_w, frame_s = self._max_w - self._idle_w, history.latency_ms / 1e3
        rate = history.rate or 0.0
        worst_now = self._idle_w + span_w * min(1.0, rate * frame_s)
        if target is None or history.watts > worst_now * (1 + 2 * history.noise):
            self._starting = False
            return []
        # The frequency may still rise, and a tenth of the frames may be slower than the measured ones.
        allowed = 0.9 * (target - self._idle_w) / (span_w * frame_s)
        lever = self.levers[fps]
        level = next((i for i in range(lever.levels) if float(lever.label(i)) <= allowed), lever.levels - 1)
        if level >= lever.level:
            return []
        new_levels = list(self._levels())
        new_levels[fps] = level
        self._last_raise_s = t_s
        reason = f"{target:.2f} W allow this rate even if each {self._item} takes the power of full load"
        return self._apply(t_s, tuple(new_levels), reason)

    def _levels(self) -> tuple[int, ...]:
        return tuple(lever.level for lever in self.levers)

    def _setting_row(self) -> tuple[np.ndarray, float, float]:
        """Return the present setting as a row of ``SettingSpace.rows``, its duty, and the watts that a rest saves."""
        here = np.array([self._levels()])
        duty, saved = self._space.duty(here)
        return self._space.onehot(here)[0], float(duty[0]), saved

    def _predicted_watts(self) -> float | None:
        """Return the power that the learned costs predict, for a sensor that fails. If there never was a sensor,
        return a figure that grows with the work: the thermal model needs no particular unit."""
        row, duty, saved = self._setting_row()
        rate = self._history.rate or 0.0
        if self._history.had_power:
            return self._power.watts(row, rate, duty, saved) if self._power.known else None
        work = math.exp(float(row @ self._space.log_energy)) * rate / max(1e-6, self._planner.full_rate())
        return 1.0 + 3.0 * work

    def _learn(self) -> None:
        """Add the latest power and latency to the cost models if they belong to the present setting."""
        history = self._history
        if history.settled_samples < 1 or history.watts is None:
            return
        row, duty, saved = self._setting_row()
        rate = history.rate or 0.0
        if not history.power_missing:
            self._power.noise = max(0.01, history.noise)
            self._power.add(history.watts, row, rate, duty, saved, history.interval_s)
        if history.latency_ms is not None:
            requested = self._planner.full_rate()
            if self._space.fps_index is not None:
                lever = self.levers[self._space.fps_index]
                requested = float(lever.label(lever.level))
            self._latency.add(history.latency_ms, row, rate / max(duty, 0.05), rate < 0.93 * requested * duty)

    def _find_exceeded_limit(self, now: OperatingPoint, bounds: PlanBounds) -> str:
        """Return a description of a limit that is exceeded; "" if all limits are kept."""
        history, limits, target = self._history, self.limits, bounds.target_w
        # The mean of several samples has less noise than one sample.
        slack = max(
            self._targets.dead_band(), history.noise / math.sqrt(min(max(1, history.settled_samples), 15))
        )
        budget, watts = limits.power_w, history.watts
        self._recently_over.append(
            budget is not None and watts is not None and watts > budget * (1 + 2 * history.noise)
        )
        if target is not None and (now.watts > target * (1 + slack) or all(self._recently_over)):
            if budget is not None and self._targets.budget_binds():
                return f"power {now.watts:.2f} W, budget {budget:g} W less {100 * history.margin:.1f} % for noise"
            if history.mean_celsius is not None:
                text = self.forecast.describe() if self.forecast else "no forecast yet"
                return f"temperature {history.mean_celsius:.1f} °C; {text}"
            return f"power {now.watts:.2f} W, {target:.2f} W allowed"
        limit, latency = limits.latency_ms, history.mean_latency
        if limit is not None and latency is not None and history.settled_samples >= 3 and latency > limit:
            return f"latency {latency:.0f} ms, limit {limit:g} ms"
        return ""

    def _lower_quality(
        self, t_s: float, now: OperatingPoint, bounds: PlanBounds, reason: str
    ) -> list[Action]:
        """Move to a setting within the limits, and return the actions. If a raise was recent, later raises wait
        longer."""
        if t_s - self._last_raise_s < BLAME_S:
            self._hold = min(MAX_HOLD_S, 2 * self._hold)
            self._last_raise_s = -math.inf
        # A latency that is too high may be due to a low frequency, which is then raised.
        downward = not reason.startswith("latency")
        best = self._selector.select_within_limits(now, bounds, downward)
        self.note = (
            ""
            if best.fits
            else f"no setting keeps the limits; the lowest expected power is {best.watts:.2f} W"
        )
        return self._apply(t_s, best.levels, reason, best)

    def _raise_quality(self, t_s: float, now: OperatingPoint, bounds: PlanBounds) -> list[Action]:
        """Move to a better setting if the limits allow it and the wait is over. Return the actions."""
        target, self.note = bounds.target_w, ""
        if t_s - self._last_move_s > 180:  # the setting has held for three minutes
            self._hold = max(HOLD_S, self._hold / 2)
        room = 1.0 if target is None else max(1e-3, 1 - now.watts / max(target, 1e-3))
        # Power far below the target cannot be noise, so the wait is shorter than for the last percents.
        hold = max(HOLD_S, self._hold * min(1.0, 0.04 / room))
        if t_s <= START_S and room > 0.1 and self._hold == HOLD_S:
            hold = RAISE_INTERVAL_S
        if (
            t_s - self._last_move_s < hold
            or t_s - self._last_search_s < RAISE_INTERVAL_S
            or self._history.sensor_missing
        ):
            return []
        self._last_search_s = t_s
        if not any(now.levels):
            return []
        current = float(self._planner.quality_loss(np.array([now.levels]), np.array([now.rate]))[0])
        patient = t_s - self._last_quality_move_s >= QUALITY_HOLD_S + self._hold - HOLD_S or t_s < START_S
        best = self._selector.select_better_setting(now, bounds, current) if patient else None
        if best is None:
            best = self._selector.choose(now, bounds, frozen=True)
            # A setting that loses hardly less quality, or hardly uses more power, is not worth a move.
            small = target is not None and best.watts - now.watts < self._targets.dead_band() * target
            if not best.fits or best.levels == now.levels or best.loss > current - 0.004 or small:
                return []
        reason = "no limit is near" if target is None else f"{target - now.watts:.2f} W are left"
        self._last_raise_s = t_s
        return self._apply(t_s, best.levels, reason, best)

    def _apply(
        self, t_s: float, levels: tuple[int, ...], reason: str, plan: Setting | None = None
    ) -> list[Action]:
        """Move the levers: first the levers that save power, then the others. A refusal is logged, and the rest of
        the plan is dropped."""
        actions = []
        order = [
            i for i in range(len(levels)) if levels[i] != self.levers[i].level and i not in self._refused
        ]
        for i in sorted(order, key=lambda i: levels[i] < self.levers[i].level):
            lever = self.levers[i]
            before = lever.label(lever.level)
            text = reason + (
                f"; expected {plan.watts:.2f} W at {plan.rate:.1f} {self._unit}" if plan is not None else ""
            )
            try:
                lever.move(levels[i])
            except AreniteError as error:
                self._refused.add(i)
                actions.append(
                    Action(
                        t_s,
                        lever.name,
                        before,
                        before,
                        f"refused, so this lever is not moved any more: {error}",
                    )
                )
                break
            actions.append(Action(t_s, lever.name, before, lever.label(lever.level), text))
            if i != self._space.fps_index:
                self._last_quality_move_s = t_s
        if actions:
            self._last_move_s = t_s
            self._history.moved()
            self.log += actions
        return actions

    def state(self) -> dict[str, Any]:
        """Return the state for a dashboard, as JSON."""
        history, forecast = self._history, self.forecast
        minutes = forecast.minutes if forecast is not None else None
        target, watts, mean_celsius = self._targets.target_w, history.mean_watts, history.mean_celsius
        return {
            "levers": {lever.name: lever.label(lever.level) for lever in self.levers},
            "levels": [
                {"lever": x.name, "level": x.level, "levels": x.levels, "label": x.label(x.level)}
                for x in self.levers
            ],
            "log": [action.to_json() for action in self.log[-_LOG_TAIL:]],
            "moves": dict(Counter(action.lever for action in self.log)),
            "refused": sorted(self.levers[i].name for i in self._refused),
            "target_w": None if target is None or target > 1e3 else round(target, 3),
            "power_w": None if watts is None or not history.had_power else round(watts, 3),
            "power_known": not history.power_missing,
            "idle_w": round(float(self._power.state[0]), 3) if self._power.known else None,
            "temperature_c": None if mean_celsius is None else round(mean_celsius, 2),
            "bound_c": self._targets.bound_c(),
            "forecast": forecast.describe() if forecast is not None else "not known yet",
            "settles_c": None
            if forecast is None or forecast.steady_c is None
            else round(forecast.steady_c, 1),
            "minutes": None if minutes is None or math.isinf(minutes) else round(minutes, 2),
            "fit_rms_k": None if forecast is None else round(forecast.rms_k, 3),
            "hold_s": self._hold,
            "actions": len(self.log),
            "note": history.note or self.note,
        }
