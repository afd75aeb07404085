"""Choose the setting with the least loss of quality whose predicted power and latency are within the limits.

The loss of a setting is the sum of the losses of its levers (``levers.LOSSES``) and the loss of the frame rate, which
is ``requested / served - 1``: the loss is 0.25 if one frame in five is skipped, 1 if half of the frames are skipped,
and 9 for nine in ten. The frame rate is therefore lowered first, and after some steps another lever has a lower loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.host.governor.cost_model import LatencyModel, PowerCurves, PowerModel, SettingSpace
from arenite.host.governor.levers import loss

#: A move of another lever than the frame rate is noticeable, so it must lower the loss by at least this figure.
MOVE_PENALTY = 0.03


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The present setting, its mean power in watts and its mean rate in frames per second."""

    levels: tuple[int, ...]
    watts: float
    rate: float


@dataclass(frozen=True, slots=True)
class PlanBounds:
    """The limits that a setting must keep; None for no limit. The predicted power is at most ``target_w``. The
    predicted power plus ``caution`` standard deviations is at most ``ceiling_w``."""

    target_w: float | None = None
    ceiling_w: float | None = None
    latency_ms: float | None = None
    caution: float = 2.0


@dataclass(frozen=True, slots=True)
class Setting:
    """A level of each lever, with the predicted power, rate, latency and quality loss. ``fits``: every limit is
    kept."""

    levels: tuple[int, ...]
    watts: float
    rate: float
    latency_ms: float
    loss: float
    fits: bool


class Planner:
    """Predicts power and latency of all settings from the learned costs, and chooses a setting."""

    def __init__(self, space: SettingSpace, power: PowerModel, latency_model: LatencyModel) -> None:
        self.space, self.power, self.latency_model = space, power, latency_model
        self.requested_fps = 0.0  # the rate at full quality if no lever sets the frame rate
        lever = space.levers[space.fps_index] if space.fps_index is not None else None
        self._rates = np.array([float(lever.label(i)) for i in range(lever.levels)]) if lever else np.zeros(0)
        self._losses = [np.array([loss(lever, i) for i in range(lever.levels)]) for lever in space.levers]

    def full_rate(self) -> float:
        """Return the frames per second at full quality."""
        return float(self._rates[0]) if len(self._rates) else self.requested_fps

    def quality_loss(self, levels: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return the loss, shape (N,), of the settings ``levels``, shape (N, levers), at which ``rate`` frames per
        second, shape (N,), are processed."""
        total = np.maximum(0.0, self.full_rate() / np.maximum(rate, 1e-3) - 1)
        for i, losses in enumerate(self._losses):
            if i != self.space.fps_index:
                total = total + losses[levels[:, i]]
        value: np.ndarray = total
        return value

    def choose(self, now: OperatingPoint, bounds: PlanBounds, allowed: np.ndarray | None = None) -> Setting:
        """Return the setting with the least loss that keeps the limits, or the setting that exceeds them least if none
        keeps them. ``allowed``: mask of the settings of ``space.combos`` to choose from, shape (N,); None: all."""
        combos, rows = self.space.combos, self.space.rows
        if allowed is not None and allowed.any():
            combos, rows = combos[allowed], rows[allowed]
        elif allowed is not None:
            # A coarse grid may lack the present levels: use the settings nearest to them.
            near = np.abs(combos - np.array(now.levels)).sum(axis=1)
            combos, rows = combos[near == near.min()], rows[near == near.min()]
        duty, saved = self.space.duty(combos)
        capacity = self.latency_model.capacity(rows)
        # The rate may be a little above the predicted capacity, so that a larger capacity is noticed; power must
        # allow it.
        max_rate = np.minimum(self.full_rate(), 1.1 * capacity)
        curves = self._curves(now, rows, duty, saved)
        rate = self._highest_rates(now, bounds, curves, duty, max_rate)
        levels = combos.copy()
        if self.space.fps_index is not None:
            rate, levels[:, self.space.fps_index] = self._to_labels(rate)
        else:
            rate = max_rate
        added_w, sd = curves.power_at(rate * duty)
        mean = now.watts + added_w
        rate = np.minimum(rate, capacity)
        latency = self.latency_model.latency_ms(rows)
        excess = np.zeros(len(rows))
        if bounds.target_w is not None and bounds.ceiling_w is not None:
            worst = bounds.caution * sd + (curves.risk(rate * duty) if bounds.caution else 0.0)
            excess = np.maximum(mean - bounds.target_w, mean + worst - bounds.ceiling_w)
            # Power has more weight than latency, because a budget and a trip point are hard limits.
            excess = 10 * np.maximum(excess, 0.0) / max(bounds.target_w, 1e-6)
        if bounds.latency_ms is not None:
            excess = excess + np.maximum(latency / bounds.latency_ms - 1, 0.0)
        excess[excess < 1e-4] = 0.0
        losses = self.quality_loss(levels, rate * duty)
        others = [i for i in range(levels.shape[1]) if i != self.space.fps_index]
        moved = (levels[:, others] != np.array(now.levels)[others]).sum(axis=1)
        # Keeping the limits comes first, then quality.
        best = int(np.argmin(excess * 1e6 + losses + MOVE_PENALTY * moved))
        return Setting(
            tuple(int(level) for level in levels[best]),
            float(mean[best]),
            float(rate[best] * duty[best]),
            float(latency[best]),
            float(losses[best]),
            bool(excess[best] == 0.0),
        )

    def _curves(self, now: OperatingPoint, rows: np.ndarray, duty: np.ndarray, saved: float) -> PowerCurves:
        """Return the power of the settings ``rows``, relative to the present setting ``now``."""
        here = np.array([now.levels])
        own_duty, _ = self.space.duty(here)
        origin = (self.space.onehot(here)[0], now.rate, float(own_duty[0]))
        return self.power.curves(rows, duty, saved, origin, now.watts)

    @staticmethod
    def _highest_rates(
        now: OperatingPoint, bounds: PlanBounds, curves: PowerCurves, duty: np.ndarray, max_rate: np.ndarray
    ) -> np.ndarray:
        """Return the highest rate of each setting, shape (N,), that keeps the limits of power. It is the rate while
        frames are processed, without the rests. Bisection finds it, because power rises with the rate.

        The prediction is the present measurement plus the predicted difference, so that a constant error cancels.
        """
        target, ceiling = bounds.target_w, bounds.ceiling_w
        if target is None or ceiling is None:
            return max_rate

        def keeps_limits(rate: np.ndarray) -> np.ndarray:
            added_w, sd = curves.power_at(rate * duty)
            worst = bounds.caution * sd + (curves.risk(rate * duty) if bounds.caution else 0.0)
            return (now.watts + added_w <= target) & (now.watts + added_w + worst <= ceiling)

        low, high = np.zeros(len(max_rate)), max_rate.copy()
        max_fits = keeps_limits(high)
        for _ in range(14):  # to 1/16384 of the range
            middle = (low + high) / 2
            fits = keeps_limits(middle)
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return np.where(max_fits, max_rate, low)

    def _to_labels(self, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each ``rate``, the highest label of the frame-rate lever that is not above it, and the level of
        this label. Labels descend."""
        index = np.minimum(np.searchsorted(-self._rates, -(rate + 1e-6)), len(self._rates) - 1)
        return self._rates[index], index
