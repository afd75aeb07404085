"""Compute the figures of Poisson events with a queue of limited length: M/D/1/K and M/G/1/K, with a time to wake up.

The Markov chain of the number of events left behind at each departure gives dropped events, shares of time and
the mean wait exactly (J. Keilson, 1966; H. Takagi, Queueing Analysis 2, 1993). The first service after sleep takes
longer by the time to wake up (P. D. Welch, 1964). Without a queue, A. K. Erlang's loss formula λ·s / (1 + λ·s) (event
rate λ, service time s) holds for any distribution of service times. The wait of an event is the remainder of the
current service plus the services of the events ahead of it. Its distribution is computed on a lattice, a grid of equal
time steps, by summing over the state at the start of the service and the time of the arrival. This method has no
published source; a test checks it against the simulation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from arenite.errors import UsageError
from arenite.host.duty.events import Floats
from arenite.host.duty.poisson_queue import (
    departure_states,
    mg1_lattice,
    poisson_terms,
    shares,
    unlimited_queue,
)
from arenite.host.duty.queue_figures import PERCENTILES, Queueing, Sleep, lattice_percentiles, split
from arenite.host.duty.service import ServiceTimes

#: The longest queue for which the wait percentiles are computed. For a longer queue, the percentiles of an unlimited
#: queue are used if less than one event in a thousand is dropped; otherwise ``UsageError`` is raised.
MAX_PLACES = 100
#: The longest queue for which the states of the Markov chain are computed.
_MAX_STATES = 1000


def arrivals_during(rate_hz: float, times_s: Floats, count: int) -> Floats:
    """Return the probabilities of 0, …, ``count`` − 1 arrivals during a time from ``times_s``, which are equally
    likely; shape (count,)."""
    value: Floats = np.mean([poisson_terms(rate_hz * float(t), count) for t in times_s], axis=0)
    return value


def finite_queue(
    rate_hz: float,
    service: ServiceTimes,
    sleep: Sleep,
    queue: int,
    percentiles: Sequence[float] = PERCENTILES,
) -> Queueing:
    """Return the figures for Poisson events and ``queue`` waiting places besides the event in service. An event
    that finds all places taken is dropped.

    Raises ``UsageError`` for a queue of more than 100 places if the device is nearly or fully busy.
    """
    rho = rate_hz * service.mean_s
    if queue > _MAX_STATES:
        if rho < 0.9:
            return unlimited_queue(rate_hz, service, sleep, percentiles)
        raise _too_long(queue, rho)
    states = queue + 1  # the largest number of events in the device
    # The probability that the device falls asleep before the next event.
    sleep_probability = math.exp(-rate_hz * sleep.linger_s)
    awake = arrivals_during(rate_hz, service.points, states + 1)
    woken = arrivals_during(rate_hz, service.points + sleep.wake_s, states + 1)
    # left[n] is the probability that a departure leaves n events behind.
    left = departure_states(awake, sleep_probability * woken + (1 - sleep_probability) * awake, states)
    mean_wake_s = sleep_probability * sleep.wake_s
    # Departures per second: after a departure that leaves the device empty, the next service begins only after the next
    # event and the time to wake.
    served = float(1 / (service.mean_s + left[0] * (1 / rate_hz + mean_wake_s)))
    # In the long run, arrivals that find j events are as frequent as departures that leave j events behind (below the
    # limit): λ·P(j events) = served·left[j].
    probabilities = served * left / rate_hz
    full = max(1 - float(probabilities.sum()), 0.0)
    if queue <= MAX_PLACES:
        waits = _wait_percentiles(rate_hz, service, sleep, left, percentiles)
    elif rho < 1 and full < 1e-3:  # equivalent to an unlimited queue
        waits = lattice_percentiles(*mg1_lattice(rate_hz, service, sleep), percentiles)
    else:
        raise _too_long(queue, rho)
    mean_events = float(np.arange(states) @ probabilities) + states * full
    return Queueing(
        method=_method_text(service, queue, sleep),
        **shares(rate_hz, service, sleep, float(probabilities[0]), served),
        dropped=full,
        wait_mean_s=max(mean_events / served - service.mean_s, 0.0),
        wait_percentiles_s=waits,
    )


def _too_long(queue: int, rho: float) -> UsageError:
    return UsageError(
        f"A queue of {queue} places is too long to compute at a utilization of {rho:.2g}.",
        f"Give --queue {MAX_PLACES} or less, or a lower event rate.",
    )


def _method_text(service: ServiceTimes, queue: int, sleep: Sleep) -> str:
    kind = "D" if service.fixed else "G"
    waking = " with wake-up time" if sleep.wake_s else ""
    if queue == 0:
        return f"M/{kind}/1/1{waking}: Erlang's loss formula"
    return f"M/{kind}/1/{queue + 1}{waking}: exact, from the Markov chain at departures; percentiles on a lattice"


def _terms(rate_hz: float, times_s: Floats, count: int) -> Floats:
    """Return the probabilities of 0, …, ``count`` − 1 arrivals in each of the times; shape (count, times)."""
    means = rate_hz * times_s
    out = np.empty((count, times_s.size))
    out[0] = np.exp(-means)
    for m in range(1, count):
        out[m] = out[m - 1] * means / m
    return out


def _residuals(rate_hz: float, times_s: Floats, count: int, step: float, size: int) -> Floats:
    """Return the probability that arrival number m during a time from ``times_s`` comes when a given remainder of this
    time is left. The shape is (count, size): a row for each m from 0 and a column for each lattice cell of the
    remainder.

    The probability of a cell is exact: P(at most m arrivals before the remainder reaches the cell's far edge) minus
    P(at most m arrivals before it reaches the near edge).
    """
    out = np.zeros((count, size))
    edges = np.arange(size + 1) * step
    for time in times_s:
        cells = min(math.ceil(float(time) / step - 1e-9), size)
        passed = np.maximum(time - edges[: cells + 1], 0.0)
        out[:, :cells] += np.diff(np.cumsum(_terms(rate_hz, passed, count), axis=0), axis=1)
    out /= times_s.size
    # The middle of a cell is between two lattice points, so each of the two points gets half of the probability.
    halves = out / 2
    halves[:, 1:] += out[:, :-1] / 2
    return halves


def _wait_percentiles(
    rate_hz: float, service: ServiceTimes, sleep: Sleep, left: Floats, percentiles: Sequence[float]
) -> dict[float, float]:
    """Return the percentiles of the wait in s, by percentile. ``left[n]`` is the probability that a departure leaves n
    events behind."""
    states = left.size
    sleep_probability = math.exp(-rate_hz * sleep.linger_s) if sleep.wake_s else 0.0
    if states == 1:
        return {p: sleep.wake_s if p / 100 > 1 - sleep_probability else 0.0 for p in percentiles}
    longest = max(float(service.points[-1]), sleep.wake_s)
    # A mean service has 64 steps or more, and the longest time 16 or more, unless the lattice would have more than
    # 65536 steps.
    step = max(min(service.mean_s / 64, longest / 16), longest * states / (1 << 16))
    size = 1 << math.ceil(math.log2((longest * states + longest) / step + 4))
    short = min(math.ceil(longest / step) + 2, size)
    in_service = _residuals(rate_hz, service.points, states, step, short)
    # starts[n − 1] is the probability of n events in the device at the start of a service.
    starts = np.concatenate((left[1:], [0.0]))
    woken = poisson_terms(rate_hz * sleep.wake_s, states) if sleep_probability else np.eye(1, states)[0]
    woken[-1] = max(1 - woken[:-1].sum(), 0.0)
    starts += left[0] * (sleep_probability * woken + (1 - sleep_probability) * np.eye(1, states)[0])
    # ahead[k] is the distribution of the current service's remainder for an event with k complete services ahead of it.
    ahead = np.zeros((states, short))
    for n in range(1, states):
        for m in range(states - n):
            ahead[n - 1 + m] += starts[n - 1] * in_service[m]
    ahead[0] += left[0] * sleep_probability * split(np.array([sleep.wake_s]), np.ones(1), step, short)
    ahead[0, 0] += left[0] * (1 - sleep_probability)
    if sleep_probability:
        in_waking = _residuals(rate_hz, np.array([sleep.wake_s]), states - 1, step, short)
        ahead[1:] += left[0] * sleep_probability * in_waking
    services = np.fft.rfft(
        split(service.points, np.full(service.points.size, 1 / service.points.size), step, size)
    )
    total = np.zeros(services.size, dtype=np.complex128)
    for masses in ahead[::-1]:
        total = total * services + np.fft.rfft(masses, size)
    return lattice_percentiles(np.maximum(np.fft.irfft(total, size), 0.0), step, percentiles)
