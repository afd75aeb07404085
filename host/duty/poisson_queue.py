"""Compute the figures of Poisson events with an unlimited queue (M/D/1 and M/G/1, with a time to wake up), and a bound
for periodic events.

Symbols: event rate λ, service time S (fixed: s), utilization ρ = λ·E[S], time to wake V. A lattice is a grid of equal
time steps.

Sources. Little's law: J. D. C. Little, Operations Research 9 (1961). Mean wait of M/G/1: F. Pollaczek (1930) and A. Y.
Khinchine (1932). Distribution for a fixed service: A. K. Erlang (1909) and C. D. Crommelin (1932), here in the sum of
positive terms of G. J. Franx, "A simple solution for the M/D/c waiting time distribution", Operations Research Letters
29 (2001). Waking ("setup"): P. D. Welch, Operations Research 12 (1964); H. Takagi, Queueing Analysis 1 (1991). Bound of
D/G/1: J. F. C. Kingman (1962).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from arenite.host.duty.events import Floats
from arenite.host.duty.queue_figures import (
    PERCENTILES,
    Queueing,
    Sleep,
    lattice_percentiles,
    overload_error,
    split,
)
from arenite.host.duty.service import ServiceTimes

#: The maximum number of lattice steps.
_MAX_CELLS = 1 << 20
#: Above this utilization the lattice is used, because the number of terms of the exact sum grows with 1 / (1 − ρ)².
_MAX_EXACT_UTILIZATION = 0.98
#: Range of the lattice in mean waits. The probability of a longer wait is e^-30.
_TAIL = 30.0


def poisson_terms(mean: float, count: int) -> Floats:
    """Return P(0), …, P(``count`` − 1) of the Poisson distribution with this mean; shape (count,)."""
    if mean <= 0:
        value: Floats = np.eye(1, count)[0]
        return value
    n = np.arange(count)
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, count)))))
    return np.asarray(np.exp(n * math.log(mean) - mean - logs))


def md1_mean_wait(rate_hz: float, service_s: float) -> float:
    """Return the mean wait of M/D/1 in s: ρ·s / (2·(1 − ρ)), the formula of Pollaczek and Khinchine."""
    rho = rate_hz * service_s
    return rho * service_s / (2 * (1 - rho))


def mg1_mean_wait(rate_hz: float, service: ServiceTimes, sleep: Sleep = Sleep()) -> float:  # noqa: B008
    """Return the mean wait of M/G/1 in s: λ·E[S²] / (2·(1 − ρ)), plus (2·E[V] + λ·E[V²]) / (2·(1 + λ·E[V])) for the
    time to wake V, which is 0 if the device does not fall asleep before the next event."""
    wait = rate_hz * service.square_s2 / (2 * (1 - rate_hz * service.mean_s))
    # The probability that the device falls asleep before the next event.
    sleep_probability = math.exp(-rate_hz * sleep.linger_s)
    mean_wake_s = sleep_probability * sleep.wake_s
    return wait + (2 * mean_wake_s + rate_hz * sleep_probability * sleep.wake_s**2) / (
        2 * (1 + rate_hz * mean_wake_s)
    )


def departure_states(arrivals: Floats, first: Floats, states: int) -> Floats:
    """Return the probabilities that a departure leaves 0, …, ``states`` − 1 events behind; shape (states,).

    ``arrivals[k]`` is the probability of k arrivals during a service. ``first[k]`` is the same for the first service
    after the device was empty, including the time to wake. The computation balances the transitions between
    neighbouring states, so all terms are positive. With a limited number of places the same probabilities hold up to a
    factor (J. Keilson, 1966); here they are normalized over ``states``.
    """
    if arrivals[0] < 1e-250:  # no departure ever leaves the device without a queue
        value: Floats = np.eye(1, states, states - 1)[0]
        return value
    above = np.maximum(1 - np.cumsum(arrivals), 0.0)
    above_first = np.maximum(1 - np.cumsum(first), 0.0)
    probabilities = np.zeros(states)
    probabilities[0] = 1.0
    for j in range(states - 1):
        up = probabilities[0] * above_first[j] + probabilities[1 : j + 1] @ above[j:0:-1]
        probabilities[j + 1] = up / arrivals[0]
        if probabilities[j + 1] > 1e200:
            probabilities /= probabilities[j + 1]
    return np.asarray(probabilities / probabilities.sum())


def md1_wait_cdf(rate_hz: float, service_s: float, states: int) -> tuple[Floats, float]:
    """Return the probabilities of at most 0, 1, … waiting events (Franx's Q), shape (states − 1,), and ρ. They are
    arguments of ``md1_cdf``."""
    rho = rate_hz * service_s
    arrivals = poisson_terms(rho, states + 1)
    probabilities = departure_states(arrivals, arrivals, states)
    probabilities *= (1 - rho) / probabilities[0]
    return np.asarray(np.minimum(np.cumsum(probabilities)[1:], 1.0)), rho


def md1_cdf(wait_s: float, service_s: float, waiting: Floats, rho: float) -> float:
    """Return P(wait ≤ ``wait_s``): e^-u · Σ Q(k − 1 − j)·u^j / j! over j = 0 … k − 1, with u = λ·(k·s − wait) and
    k = ⌊wait / s⌋ + 1 (Franx 2001). ``waiting`` is Q."""
    k = int(wait_s / service_s) + 1
    if k > waiting.size:
        return 1.0
    terms = poisson_terms(rho * (k - wait_s / service_s), k)
    return float(terms @ waiting[:k][::-1])


def md1_percentiles(rate_hz: float, service_s: float, percentiles: Sequence[float]) -> dict[float, float]:
    """Return the exact percentiles of the wait of M/D/1 in s, by percentile. A percentile of at most 1 − ρ, the
    probability of no wait, is 0 s."""
    rho = rate_hz * service_s
    states = int(_TAIL / (1 - rho)) + 20
    waiting, rho = md1_wait_cdf(rate_hz, service_s, states)
    waits = {}
    for p in percentiles:
        low, high = 0.0, (states - 1) * service_s
        if p / 100 <= 1 - rho:
            high = 0.0
        for _ in range(60 if high else 0):  # bisection
            middle = (low + high) / 2
            low, high = (
                (middle, high) if md1_cdf(middle, service_s, waiting, rho) < p / 100 else (low, middle)
            )
        waits[p] = high
    return waits


def _uniform_lattice(wake_s: float, step: float, size: int) -> Floats:
    """Return the uniform distribution over 0 … ``wake_s`` on a lattice of ``size`` steps, as one probability per
    step."""
    edges = np.clip((np.arange(size) + 0.5) * step / wake_s, 0, 1)
    return np.asarray(np.diff(edges, prepend=0.0), np.float64)


def mg1_lattice(rate_hz: float, service: ServiceTimes, sleep: Sleep) -> tuple[Floats, float]:
    """Return the distribution of the wait of M/G/1 with a time to wake: one probability per lattice step, and the
    length of a step in s.

    The wait is a sum of two parts. The first part is the wait of M/G/1, the sum of a geometric number of residual
    services (Pollaczek and Khinchine). The second part comes from the time to wake V: V itself, or with the odds λ·E[V]
    the residual of V (Takagi). The error of a percentile is about one step, 1 % of a service.
    """
    mean, rho = service.mean_s, rate_hz * service.mean_s
    residual_mean = service.square_s2 / (2 * mean)
    longest = float(service.points[-1])
    reach = max(_TAIL * residual_mean / (1 - rho), 0) + longest + sleep.wake_s
    step = max(mean / 100, reach / _MAX_CELLS)
    size = 1 << math.ceil(math.log2(reach / step + 4))
    edges = (np.arange(size) + 0.5) * step
    times = service.points
    running = np.concatenate(([0.0], np.cumsum(times)))
    shorter = np.searchsorted(times, edges, side="right")  # the number of service times up to each edge
    # E[min(S, x)] / E[S], the cumulative probability of the residual service.
    cumulative = (running[shorter] + (times.size - shorter) * edges) / running[-1]
    residual = np.fft.rfft(np.diff(cumulative, prepend=0.0))
    wait = (1 - rho) / (1 - rho * residual)
    if sleep.wake_s > 0:
        sleep_probability = math.exp(-rate_hz * sleep.linger_s)
        odds = rate_hz * sleep_probability * sleep.wake_s
        extra = sleep_probability * split(np.array([sleep.wake_s]), np.ones(1), step, size)
        extra[0] += 1 - sleep_probability
        extra += odds * _uniform_lattice(sleep.wake_s, step, size)
        wait = wait * np.fft.rfft(extra / (1 + odds))
    return np.maximum(np.fft.irfft(wait, size), 0.0), step


def shares(
    rate_hz: float, service: ServiceTimes, sleep: Sleep, empty: float, served: float
) -> dict[str, Any]:
    """Return the rates and shares of time for Poisson events, as arguments of ``Queueing``. ``empty``: share of the
    time in which the device has no event. ``served``: served events per second."""
    sleep_probability = math.exp(-rate_hz * sleep.linger_s)
    wakes = rate_hz * empty * sleep_probability
    return {
        "offered": rate_hz * service.mean_s,
        "utilization": served * service.mean_s,
        "waking": wakes * sleep.wake_s,
        "lingering": empty * (1 - sleep_probability),
        "sleeping": empty * sleep_probability,
        "wakes_per_s": wakes,
        "served_per_s": served,
    }


def unlimited_queue(
    rate_hz: float, service: ServiceTimes, sleep: Sleep, percentiles: Sequence[float] = PERCENTILES
) -> Queueing:
    """Return the figures for Poisson events and an unlimited queue. Raises ``UsageError`` if the device cannot keep
    up."""
    rho = rate_hz * service.mean_s
    if rho >= 1:
        raise overload_error(rho)
    sleep_probability = math.exp(-rate_hz * sleep.linger_s)
    empty = (1 - rho) / (1 + rate_hz * sleep_probability * sleep.wake_s)
    kind = "D" if service.fixed else "G"
    if service.fixed and not sleep.wake_s and rho <= _MAX_EXACT_UTILIZATION:
        method = "M/D/1: exact (Franx 2001)"
        waits = md1_percentiles(rate_hz, service.mean_s, percentiles)
    else:
        method = f"M/{kind}/1{' with waking' if sleep.wake_s else ''}: Pollaczek-Khinchine, percentiles on a lattice"
        waits = lattice_percentiles(*mg1_lattice(rate_hz, service, sleep), percentiles)
    return Queueing(
        method=method,
        **shares(rate_hz, service, sleep, empty, rate_hz),
        dropped=0.0,
        wait_mean_s=mg1_mean_wait(rate_hz, service, sleep),
        wait_percentiles_s=waits,
        notes=("close to saturation: a small error of the service time changes the waits strongly",)
        if rho > 0.95
        else (),
    )


def kingman_bound(period_s: float, service: ServiceTimes) -> float:
    """Return an upper bound of the mean wait of D/G/1 without waking, in s: Var(S) / (2·T·(1 − ρ)) (Kingman 1962)."""
    variance = max(service.square_s2 - service.mean_s**2, 0.0)
    return variance / (2 * period_s * (1 - service.mean_s / period_s))
