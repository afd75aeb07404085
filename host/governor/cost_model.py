"""Learn the cost of each level of each lever, and predict power and speed of a setting from declared figures and
measurements.

A lever is a control such as the frame rate or the model variant, with levels from the best quality (0) downwards. A
setting is one level per lever.

    power   = P0 + E · Π e_i(level_i) · rate - (1 - duty) · saved
    latency = L / Π s_i(level_i)

P0 is the idle power, E the energy and L the latency of a frame at full quality, and e_i and s_i the energy and speed of
a level of lever i relative to level 0. rate is in frames per second, duty is the share of the time in which frames are
processed, and saved the power that a rest saves. ln E, ln e_i and P0 are the state of an extended Kalman filter (the
relation is linear in P0 and smooth in the logarithms). Each sample of power updates the figures that it depends on.
Levels that were never used keep a wide uncertainty, which the planner adds to the prediction. ln L and ln s_i are
learned from latencies in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite.host.governor.interface import Lever
from arenite.host.governor.levers import energy, speed

#: Standard deviation of the logarithm of a declared cost before it was measured.
DECLARED_SD = 0.25
#: Added work may cost this share more than predicted: the model does not describe leakage, memory and other clocks of
#: the device.
COST_UNDERESTIMATE = 0.35


class SettingSpace:
    """All settings of the levers at full frame rate, as arrays with one row per combination of levels.

    ``combos``: the level of each lever, shape (N, levers). ``rows``: the same settings as 0 and 1, shape (N, width),
    with a column for each level above 0 of each lever besides frame rate and rest. ``offsets``: the first column of
    each lever. ``log_energy`` and ``log_speed``: logarithms of the declared energy and speed of these levels, shape
    (width,). ``fps_index``: the index of the frame rate's lever; None if there is none.
    """

    def __init__(self, levers: Sequence[Lever], max_settings: int = 6000) -> None:
        self.levers = list(levers)
        self.fps_index = next((i for i, lever in enumerate(levers) if lever.name == "fps"), None)
        grids = [
            np.array([0])
            if i == self.fps_index
            else _grid(lever.levels, _max_grid_levels(levers, max_settings))
            for i, lever in enumerate(levers)
        ]
        mesh = np.meshgrid(*grids, indexing="ij") if grids else []
        self.combos = np.stack([m.ravel() for m in mesh], axis=1) if grids else np.zeros((1, 0), int)
        self.offsets, count = [], 0
        for i, lever in enumerate(levers):
            self.offsets.append(count)
            count += 0 if i == self.fps_index or lever.name == "rest" else lever.levels - 1
        self.width = count
        self.log_energy, self.log_speed = self._declared()
        self.rows = self.onehot(self.combos)

    def _declared(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the logarithms of the declared energy and speed of each level above 0, shape (width,) each."""
        e, s = np.zeros(self.width), np.zeros(self.width)
        for i, lever in enumerate(self.levers):
            if i != self.fps_index and lever.name != "rest":
                for level in range(1, lever.levels):
                    e[self.offsets[i] + level - 1] = math.log(max(1e-6, energy(lever, level)))
                    s[self.offsets[i] + level - 1] = math.log(max(1e-6, speed(lever, level)))
        return e, s

    def onehot(self, combos: np.ndarray) -> np.ndarray:
        """Return the settings ``combos``, shape (N, levers), in the form of ``rows``, shape (N, width)."""
        rows = np.zeros((len(combos), self.width))
        for i, lever in enumerate(self.levers):
            if i == self.fps_index or lever.name == "rest":
                continue
            levels = combos[:, i]
            on = np.flatnonzero(levels > 0)
            rows[on, self.offsets[i] + levels[on] - 1] = 1
        return rows

    def duty(self, combos: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the share of the time in which frames are processed, shape (N,), and the watts that a rest saves."""
        duty, saved = np.ones(len(combos)), 0.0
        for i, lever in enumerate(self.levers):
            if lever.name == "rest":
                duty = np.array([lever.cost(level) for level in range(lever.levels)])[combos[:, i]]
                saved = float(getattr(lever, "saves_w", 0.0))
        return duty, saved


def _max_grid_levels(levers: Sequence[Lever], max_settings: int) -> int:
    """Return the number of levels per lever with which there are at most ``max_settings`` combinations."""
    cap = max((lever.levels for lever in levers), default=1)
    while (
        cap > 2
        and math.prod(min(lever.levels, cap) for lever in levers if lever.name != "fps") > max_settings
    ):
        cap -= 1
    return cap


def _grid(levels: int, cap: int) -> np.ndarray:
    """Return at most ``cap`` evenly spread levels, with the first and the last level."""
    return np.unique(np.linspace(0, levels - 1, min(levels, cap)).round().astype(int))


class PowerModel:
    """The Kalman filter of power. Its state is P0, ln E, and a correction of ln e for each column of
    ``space.rows``."""

    def __init__(self, space: SettingSpace, idle_w: float | None = None) -> None:
        self.space = space
        self._idle = idle_w
        self.state = np.zeros(2 + space.width)
        self.cov = np.zeros((2 + space.width, 2 + space.width))
        self.known = False  # whether there was a sample
        self._widest = np.zeros(2 + space.width)  # the variances of the state before the first sample
        self.noise = 0.02  # relative standard deviation of a sample

    def start(self, watts: float, row: np.ndarray, rate: float) -> None:
        """Initialize the state from the first sample. If the idle power is not known, assume half of the sample, with a
        wide uncertainty."""
        idle = min(self._idle, 0.9 * watts) if self._idle is not None else 0.5 * watts
        relative = math.exp(float(row @ self.space.log_energy))
        self.state[0] = idle
        self.state[1] = math.log(max(1e-9, (watts - idle) / max(1e-6, rate * relative)))
        spread = 0.15 if self._idle is not None else 0.3
        self.cov = np.diag([(spread * watts) ** 2, 0.7**2] + [DECLARED_SD**2] * self.space.width)
        self._widest = np.diag(self.cov).copy()
        self.known = True

    def add(
        self, watts: float, row: np.ndarray, rate: float, duty: float, saved: float, seconds: float
    ) -> None:
        """Add a sample of power that was measured at a single setting.

        ``row``: the setting as a row of ``space.rows``. ``rate``: frames per second. ``duty`` and ``saved``: see
        ``SettingSpace.duty``. ``seconds``: time since the previous sample.
        """
        if not self.known:
            if rate > 0:
                self.start(watts, row, rate)
            return
        mean, jacobian = self._model(row[None], np.array([rate]), np.array([duty]), saved)
        # Leakage and other programs change slowly: P0 drifts by one percent per minute, the energies by less.
        drift = np.concatenate([[(0.01 * watts) ** 2, 0.005**2], np.full(self.space.width, 0.002**2)])
        self.cov[np.diag_indices_from(self.cov)] += drift * seconds / 60
        h = jacobian[0]
        error, noise = watts - float(mean[0]), (self.noise * watts) ** 2
        if error**2 > 9 * (float(h @ self.cov @ h) + noise):
            # The sample is more than three standard deviations from the prediction, so the uncertainty was too small.
            # It never becomes wider than before the first sample.
            self.cov *= min(4.0, max(1.0, float((self._widest / np.diag(self.cov).clip(1e-12)).min())))
            # Most likely the scene or another program has changed, and not the relative cost of a level.
            self.cov[0, 0] += (0.05 * watts) ** 2
            self.cov[1, 1] += 0.25**2
        gain = self.cov @ h
        variance = float(h @ gain) + noise
        self.state += gain * error / variance
        self.cov -= np.outer(gain, gain) / variance
        self.state[0] = min(max(self.state[0], 0.0), watts / max(duty, 0.05))

    def watts(self, row: np.ndarray, rate: float, duty: float, saved: float) -> float:
        """Return the predicted power of one setting in watts."""
        return float(self._model(row[None], np.array([rate]), np.array([duty]), saved)[0][0])

    def _min_frame_j(self, watts: float, rate: float) -> float:
        """Return a lower bound of the joules of a frame at the present setting, from the power above the given idle
        power, less a margin of 15 %; 0 if no idle power was given. The bound is needed because the filter cannot
        separate E from P0 at a constant rate, so E may drift."""
        return 0.85 * (watts - self._idle) / max(rate, 1e-6) if self._idle is not None else 0.0

    def _model(
        self, rows: np.ndarray, rate: np.ndarray, duty: np.ndarray, saved: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the predicted watts of N settings, shape (N,), and their derivatives by the state, shape (N, 2 +
        width)."""
        per_frame = np.exp(np.clip(self.state[1] + rows @ (self.space.log_energy + self.state[2:]), -40, 20))
        dynamic = per_frame * rate
        jacobian = np.concatenate(
            [np.ones((len(rows), 1)), dynamic[:, None], dynamic[:, None] * rows], axis=1
        )
        return self.state[0] + dynamic - (1 - duty) * saved, jacobian

    def curves(
        self,
        rows: np.ndarray,
        duty: np.ndarray,
        saved: float,
        now: tuple[np.ndarray, float, float],
        watts: float,
    ) -> PowerCurves:
        """Return the power of N settings (``rows``, shape (N, width)) as a function of the rate, relative to the
        present setting ``now`` (row, mean rate, duty), which draws ``watts``."""
        _, slope = self._model(rows, np.ones(len(rows)), duty, saved)
        present_w, origin = self._model(now[0][None], np.array([now[1]]), np.array([now[2]]), saved)
        base = -origin[0]
        base[0] += 1.0  # P0 is in both powers, so it cancels and only the change by frames remains
        slope[:, 0] = 0.0
        spread = slope @ self.cov
        return PowerCurves(
            mean=self.state[0] - (1 - duty) * saved - present_w[0],
            slope=slope[:, 1].copy(),
            variance=float(base @ self.cov @ base),
            cross=spread @ base,
            square=np.einsum("nd,nd->n", spread, slope),
            present_j=(present_j := float(origin[0, 1]) / max(now[1], 1e-6)),
            underestimate=max(1.0, self._min_frame_j(watts, now[1]) / max(present_j, 1e-9)),
            rate=now[1],
        )


@dataclass(frozen=True, slots=True)
class PowerCurves:
    """The power of N settings as a function of their mean rate r in frames per second, relative to the present power:
    mean + slope·r watts. The variance of this power is variance + 2·cross·r + square·r². All arrays have shape (N,)."""

    mean: np.ndarray
    slope: np.ndarray
    variance: float
    cross: np.ndarray
    square: np.ndarray
    present_j: float  # joules of a frame at the present setting
    underestimate: float  # the factor by which present_j may be too low, from the power above idle
    rate: float  # frames per second of the present setting

    def risk(self, rate: np.ndarray) -> np.ndarray:
        """Return the watts, shape (N,), by which power will be higher if added work costs ``COST_UNDERESTIMATE`` more
        than predicted. Added work is the part of a frame's cost above the present cost, and frames beyond the present
        rate. ``rate`` has shape (N,)."""
        costlier_frames = np.maximum(self.slope - self.present_j, 0) * np.minimum(rate, self.rate)
        more_frames = self.slope * np.maximum(rate - self.rate, 0)
        value: np.ndarray = (
            COST_UNDERESTIMATE * (costlier_frames + more_frames) + (self.underestimate - 1) * more_frames
        )
        return value

    def power_at(self, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the watts above the present power and their standard deviation, shape (N,) each."""
        variance = self.variance + 2 * self.cross * rate + self.square * rate**2
        return self.mean + self.slope * rate, np.sqrt(np.maximum(variance, 0))


class LatencyModel:
    """The Kalman filter of latency. Its state is ln L and a correction of ln s for each column of ``space.rows``.
    ``overlap`` is the number of frames that are processed at the same time."""

    def __init__(self, space: SettingSpace) -> None:
        self.space = space
        self.state = np.zeros(1 + space.width)
        self.cov = np.diag([1.0] + [DECLARED_SD**2] * space.width)
        self.known = False
        self.overlap = 1.0

    def add(self, latency_ms: float, row: np.ndarray, rate: float, saturated: bool) -> None:
        """Add a measured latency. ``row``: the setting as a row of ``space.rows``. ``rate``: frames per second.
        ``saturated``: fewer frames were processed than requested."""
        if latency_ms <= 0:
            return
        y = math.log(latency_ms)
        if not self.known:
            self.state[0], self.known = y + float(row @ self.space.log_speed), True
        h = np.concatenate([[1.0], -row])
        gain = self.cov @ h
        variance = float(h @ gain) + 0.08**2
        self.state += gain * (y + float(row @ self.space.log_speed) - float(h @ self.state)) / variance
        self.cov -= np.outer(gain, gain) / variance
        self.cov[np.diag_indices_from(self.cov)] += 1e-6
        flow = rate * latency_ms / 1e3
        if saturated:
            self.overlap += 0.3 * (flow - self.overlap)
        else:
            self.overlap = max(self.overlap, flow)

    def latency_ms(self, rows: np.ndarray) -> np.ndarray:
        """Return the predicted latencies in milliseconds, shape (N,); zeros before the first measurement."""
        if not self.known:
            return np.zeros(len(rows))
        value: np.ndarray = np.exp(self.state[0] - rows @ (self.space.log_speed + self.state[1:]))
        return value

    def capacity(self, rows: np.ndarray) -> np.ndarray:
        """Return the possible frames per second, shape (N,); inf before the first measurement."""
        if not self.known:
            return np.full(len(rows), np.inf)
        value: np.ndarray = self.overlap * 1e3 / np.maximum(self.latency_ms(rows), 1e-3)
        return value
