"""Choose a setting: the least loss of quality whose predicted power and latency are inside the limits.

Loss of a setting: of each lever its own (``levers.LOSSES``), and of the frame rate ``asked / served - 1``: a frame in
five lost costs 0.25, half of them 1, nine in ten 9. So the frame rate pays first, and when it has paid some, the next
lever is the cheaper one: "cheapest lever in order" without starving the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.host.governor.cost_model import LatencyModel, PowerCurves, PowerModel, SettingSpace
from arenite.host.governor.levers import loss

#: Moving a lever other than the frame rate is felt: so much less loss it must bring.
MOVE_PENALTY = 0.03


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The present setting and what is measured there."""

    levels: tuple[int, ...]
    watts: float
    rate: float


@dataclass(frozen=True, slots=True)
class PlanBounds:
    """``target_w`` is aimed at; prediction and ``caution`` deviations stay below ``ceiling_w``. None: no limit."""

    target_w: float | None = None
    ceiling_w: float | None = None
    latency_ms: float | None = None
    caution: float = 2.0


@dataclass(frozen=True, slots=True)
class Setting:
    """Levels, and what is predicted for them; ``fits`` when every bound is kept."""

    levels: tuple[int, ...]
    watts: float
    rate: float
    latency_ms: float
    loss: float
    fits: bool


class Planner:
    """Predictions for all settings at once, from the learnt costs."""

    def __init__(self, space: SettingSpace, power: PowerModel, speeds: LatencyModel) -> None:
        self.space, self.power, self.speeds = space, power, speeds
        self.asked = 0.0  # frames per second at full quality, where there is no lever for it
        lever = space.levers[space.fps] if space.fps is not None else None
        self._rates = np.array([float(lever.label(i)) for i in range(lever.levels)]) if lever else np.zeros(0)
        self._losses = [np.array([loss(lever, i) for i in range(lever.levels)]) for lever in space.levers]

    def full_rate(self) -> float:
        """What is asked for at full quality, frames per second."""
        return float(self._rates[0]) if len(self._rates) else self.asked

    def quality_loss(self, levels: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """[N] of settings [N, levers] that serve ``rate`` [N] on average."""
        total = np.maximum(0.0, self.full_rate() / np.maximum(rate, 1e-3) - 1)
        for i, losses in enumerate(self._losses):
            if i != self.space.fps:
                total = total + losses[levels[:, i]]
        value: np.ndarray = total
        return value

    def choose(self, now: OperatingPoint, bounds: PlanBounds, allowed: np.ndarray | None = None) -> Setting:
        """The best setting of those ``allowed`` ([N] of ``space.combos``); if none fits, the one that offends least."""
        combos, rows = self.space.combos, self.space.rows
        if allowed is not None and allowed.any():
            combos, rows = combos[allowed], rows[allowed]
        elif allowed is not None:  # a thinned grid lacks the present levels
            near = np.abs(combos - np.array(now.levels)).sum(axis=1)
            combos, rows = combos[near == near.min()], rows[near == near.min()]
        duty, saved = self.space.duty(combos)
        capacity = self.speeds.capacity(rows)
        # A little more than it is thought to do may be asked for, so that it shows when it can; power must allow it.
        most = np.minimum(self.full_rate(), 1.1 * capacity)
        curves = self._curves(now, rows, duty, saved)
        rate = self._highest(now, bounds, curves, duty, most)
        levels = combos.copy()
        if self.space.fps is not None:
            rate, levels[:, self.space.fps] = self._to_labels(rate)
        else:
            rate = most
        more, sd = curves.at(rate * duty)
        mean = now.watts + more
        rate = np.minimum(rate, capacity)
        latency = self.speeds.latency_ms(rows)
        over = np.zeros(len(rows))
        if bounds.target_w is not None and bounds.ceiling_w is not None:
            worst = bounds.caution * sd + (curves.risk(rate * duty) if bounds.caution else 0.0)
            over = np.maximum(mean - bounds.target_w, mean + worst - bounds.ceiling_w)
            # Before latency: a budget or a trip point is no matter of taste.
            over = 10 * np.maximum(over, 0.0) / max(bounds.target_w, 1e-6)
        if bounds.latency_ms is not None:
            over = over + np.maximum(latency / bounds.latency_ms - 1, 0.0)
        over[over < 1e-4] = 0.0
        losses = self.quality_loss(levels, rate * duty)
        others = [i for i in range(levels.shape[1]) if i != self.space.fps]
        moved = (levels[:, others] != np.array(now.levels)[others]).sum(axis=1)
        # Offences first; then quality.
        best = int(np.argmin(over * 1e6 + losses + MOVE_PENALTY * moved))
        return Setting(
            tuple(int(level) for level in levels[best]),
            float(mean[best]),
            float(rate[best] * duty[best]),
            float(latency[best]),
            float(losses[best]),
            bool(over[best] == 0.0),
        )

    def _curves(self, now: OperatingPoint, rows: np.ndarray, duty: np.ndarray, saved: float) -> PowerCurves:
        here = np.array([now.levels])
        own_duty, _ = self.space.duty(here)
        origin = (self.space.onehot(here)[0], now.rate, float(own_duty[0]))
        return self.power.curves(rows, duty, saved, origin, now.watts)

    @staticmethod
    def _highest(
        now: OperatingPoint, bounds: PlanBounds, curves: PowerCurves, duty: np.ndarray, most: np.ndarray
    ) -> np.ndarray:
        """[N] the highest rate (while it works) that keeps the bounds of power, by bisection: power rises with rate.

        What is measured now plus the predicted difference counts: an error of the model's level cancels.
        """
        target, ceiling = bounds.target_w, bounds.ceiling_w
        if target is None or ceiling is None:
            return most

        def keeps(rate: np.ndarray) -> np.ndarray:
            more, sd = curves.at(rate * duty)
            worst = bounds.caution * sd + (curves.risk(rate * duty) if bounds.caution else 0.0)
            return (now.watts + more <= target) & (now.watts + more + worst <= ceiling)

        low, high = np.zeros(len(most)), most.copy()
        every = keeps(high)
        for _ in range(14):
            middle = (low + high) / 2
            fits = keeps(middle)
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return np.where(every, most, low)

    def _to_labels(self, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The next frame rate of the ladder that is not above, and its level. The ladder descends."""
        index = np.minimum(np.searchsorted(-self._rates, -(rate + 1e-6)), len(self._rates) - 1)
        return self._rates[index], index
