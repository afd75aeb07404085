"""Predict temperature from power with a bank of two-pole models, fitted while the loop runs by recursive least squares.

A device is a small heat capacity (the chip) on a large one (heat sink, case) in air of an unknown temperature. With
the time constants f (fast) and s (slow), its temperature is

    T(t) = a + Rf·Pf(t) + Rs·Ps(t) + A·exp(-t/s)

where Pf and Ps are the power after first-order low passes of f and s, and A is the initial state. For given f and s
this is linear in (a, Rf, Rs, A). a is the temperature offset, and Rf and Rs are thermal resistances in K/W. The bank
has a member for each pair (f, s) of a grid. Each member is fitted by its own recursive least squares with a weak prior,
and the members that predict best are used. Noise of the thermometer is only on the left side of the regression, so it
does not bias the fit as it would in a fit of temperature differences. The air's temperature may drift.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: The grid of time constants f and s in seconds.
FAST_S = (2.0, 6.0, 15.0, 35.0)
SLOW_S = (60.0, 120.0, 240.0, 420.0, 700.0, 1100.0, 1800.0)
#: Growth of the variances of (a, Rf, Rs, A) per second: the air's temperature drifts by a kelvin or two per hour,
#: resistances drift very little.
DRIFT = (1e-3, 1e-6, 1e-6, 0.0)
#: Standard deviations of (a, Rf, Rs, A) before any sample, and the means of (Rf, Rs) in K/W.
PRIOR_SD = (20.0, 2.0, 4.0, 12.0)
PRIOR_R = (1.0, 4.0)
#: A member of the bank is used while its error is at most this factor times the error of the best member.
TOLERANCE = 1.1
#: A horizon is used only if a watt raises the temperature by then by at least this share of its effect at the longest
#: horizon.
MIN_REACH = 0.25
#: Factor on the regression's own uncertainty, which is too small because its error is not white (rounding, moving air).
INFLATION = 1.5


@dataclass(frozen=True, slots=True)
class ThermalForecast:
    """A forecast at the present power. ``minutes`` is the time until ``bound_c`` is reached: inf if it is never
    reached, None while unknown. ``steady_c`` is the final temperature and ``sd_k`` its standard deviation. ``rms_k`` is
    the root mean square error of the predictions one step ahead. ``samples``: the number of samples in the fit."""

    minutes: float | None
    bound_c: float
    steady_c: float | None
    sd_k: float
    rms_k: float
    samples: int

    def describe(self) -> str:
        if self.minutes is None:
            return "not known yet"
        if math.isinf(self.minutes):
            return f"{self.bound_c:g} °C is not reached; the temperature settles at {self.steady_c:.0f} °C"
        return f"{self.bound_c:g} °C in {self.minutes:.1f} min"


class ThermalModel:
    """Learns how temperature follows power (``add``), and predicts temperatures. The power is in watts, or in any unit
    that is proportional to watts."""

    def __init__(self) -> None:
        pairs = [(f, s) for f in FAST_S for s in SLOW_S]
        self._tau = np.array(pairs).T  # time constants f and s of each of the K members, shape (2, K)
        count = len(pairs)
        self._theta = np.zeros((count, 4))  # (a, Rf, Rs, A) of each member
        self._theta[:, 1:3] = PRIOR_R
        self._cov = np.tile(np.diag(np.square(PRIOR_SD)), (count, 1, 1))
        self._filtered = np.zeros((2, count))  # Pf and Ps of each member
        self._error = np.full(count, 1.0)  # mean square of the one-step prediction errors
        self._start: float | None = None
        self._time = 0.0
        self._first = (0.0, 0.0)  # temperature and power of the first sample
        self.samples = 0

    def add(self, t_s: float, power: float, temperature: float | None) -> None:
        """Add a sample; ``power`` is the mean since the last sample. Samples out of order are ignored. Without a
        temperature, only the time and the filtered power are updated."""
        if self._start is None:
            if temperature is None:
                return
            self._start, self._first = t_s, (temperature, power)
            self._filtered[:] = power
        elapsed = t_s - self._start
        step = elapsed - self._time
        if self.samples and step <= 0:
            return
        self._time = elapsed
        self._filtered += (power - self._filtered) * (1 - np.exp(-step / self._tau))
        if temperature is None:
            return
        phi = self._phi(self._filtered, np.exp(-elapsed / self._tau[1]))
        error = temperature - self._first[0] - np.einsum("kd,kd->k", phi, self._theta)
        # Rounding to half a degree and a slow fan cause errors of some tenths of a kelvin, which the constant covers.
        # It is for about one sample per second.
        noise = 0.3 + self._error
        gain = np.einsum("kde,ke->kd", self._cov, phi)
        variance = np.einsum("kd,kd->k", phi, gain) + noise
        self._theta += gain * (error / variance)[:, None]
        self._cov -= np.einsum("kd,ke->kde", gain, gain) / variance[:, None, None]
        self._cov += np.diag(DRIFT) * max(0.0, step)
        self.samples += 1
        weight = max(1 - math.exp(-max(step, 0.1) / 120.0), 1 / self.samples)
        self._error += weight * (np.square(error) - self._error)

    def _phi(self, filtered: np.ndarray, decay: np.ndarray) -> np.ndarray:
        """Return the factors of (a, Rf, Rs, A) in the equation above, shape (members, 4). The powers are relative to
        the first sample."""
        return np.stack([np.ones_like(decay), *(filtered - self._first[1]), decay], axis=1)

    @property
    def rms_k(self) -> float:
        """Return the root mean square of the one-step prediction errors of the best member, over about two minutes."""
        return float(np.sqrt(self._error.min()))

    def _members_in_use(self) -> np.ndarray:
        """Return the indices of the members that predict best, without members whose resistance is clearly negative."""
        sane = (self._theta[:, 2] > -0.05) & (self._theta[:, 1] > -0.5)
        error = np.where(sane, self._error, np.inf)
        return np.flatnonzero(error <= max(error.min() * TOLERANCE, 1e-4))

    def _predict_by_member(self, power: float, horizon_s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the predictions for ``horizon_s`` ahead at ``power``, with one entry per member in use: temperature,
        its standard deviation, and kelvins per watt."""
        members = self._members_in_use()
        remaining = np.exp(-horizon_s / self._tau[:, members])
        filtered = power + (self._filtered[:, members] - power) * remaining
        decay = np.exp(-(self._time + horizon_s) / self._tau[1, members])
        phi = self._phi(filtered, decay)
        mean = self._first[0] + np.einsum("kd,kd->k", phi, self._theta[members])
        # The present temperature is known, so only the uncertainty of the change counts.
        change = phi - self._phi(self._filtered[:, members], np.exp(-self._time / self._tau[1, members]))
        variance = np.einsum("kd,kde,ke->k", change, self._cov[members], change)
        slope = (self._theta[members, 1:3].T * (1 - remaining)).sum(axis=0)
        return mean, INFLATION * np.sqrt(np.maximum(variance, 0)), slope

    def predict(self, power: float, horizon_s: float) -> tuple[float, float]:
        """Return the predicted temperature in °C after ``horizon_s`` at ``power``, and its standard deviation, which
        includes the spread of the members' predictions."""
        mean, sd, _ = self._predict_by_member(power, horizon_s)
        if not len(mean):
            return self._first[0], math.inf
        return float(mean.mean()), float(np.sqrt(np.mean(sd**2) + mean.var()))

    def allowed_power(self, power: float, bound_c: float, horizons_s: tuple[float, ...]) -> float:
        """Return the highest power that keeps the temperature below ``bound_c`` at each horizon.

        An uncertain forecast still uses half of the remaining room, because the next seconds bring better data.
        """
        # Horizons beyond twice the measured time are left out, because the resistances are guesses until then.
        usable = [horizon for horizon in horizons_s if horizon <= max(horizons_s[0], 2 * self._time)]
        best, reach = math.inf, 0.0
        for horizon in reversed(usable):
            mean, sd, slope = self._predict_by_member(power, horizon)
            if not len(mean):
                return math.inf
            room, gain = bound_c - float(mean.mean()), float(slope.mean())
            reach = max(reach, gain)
            # At a horizon at which power has little effect yet, a tenth of a degree would forbid every watt. Longer
            # horizons decide instead.
            if gain < max(1e-3, MIN_REACH * reach):
                break
            spread = float(np.sqrt(np.mean(sd**2) + mean.var()))
            if room > 0:
                room -= min(0.5 * room, spread)
            best = min(best, power + room / gain)
        return best

    def forecast(self, power: float, bound_c: float) -> ThermalForecast:
        """Return a forecast of the time at which ``bound_c`` is reached at ``power``."""
        steady, sd = self.predict(power, 2 * SLOW_S[-1])
        known = self.samples >= 30 and self._time >= 60
        in_5_min_c, in_5_min_sd = self.predict(power, 300.0)
        if not known or in_5_min_sd > max(3.0, 0.25 * abs(bound_c - in_5_min_c)):
            return ThermalForecast(None, bound_c, None, sd, self.rms_k, self.samples)
        minutes = math.inf
        for horizon in np.geomspace(5.0, 3 * 3600.0, 30):
            if self.predict(power, float(horizon))[0] >= bound_c:
                minutes = float(horizon) / 60
                break
        return ThermalForecast(minutes, bound_c, steady, sd, self.rms_k, self.samples)
