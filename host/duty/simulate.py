"""Simulate a device that sleeps between events, to check the formulas of the other modules.

A heap of events in time (arrival, awake, departure, asleep) drives a small state machine. It shares no code
with poisson_queue.py, finite_queue.py or periodic_events.py. The first part of the simulation is left out as warm-up.
Means over consecutive batches give the confidence intervals (batch means, e.g. A. M. Law, Simulation Modeling and
Analysis, chapter 9).
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from arenite.host.duty.events import Events, Floats
from arenite.host.duty.queue_figures import PERCENTILES, Sleep
from arenite.host.duty.service import ServiceTimes

_BATCHES = 20
_STUDENT = 2.093  # 97.5 % quantile of Student's t with 19 degrees of freedom
# The kinds of events, in the order in which events at the same time are processed. A departure is processed before an
# arrival, so the arriving event finds the place free. An arrival is processed before the device falls asleep, so the
# event finds it awake.
_DEPARTURE, _AWAKE, _ARRIVAL, _ASLEEP = range(4)
_SLEEPING, _WAKING, _BUSY, _LINGERING = range(4)


@dataclass(frozen=True)
class MeanEstimate:
    """A mean and the half width of its 95 % confidence interval."""

    mean: float
    half: float


@dataclass(frozen=True)
class SimulatedQueue:
    """The figures of a simulation. They have the same meaning as in ``Queueing``."""

    events: int
    utilization: MeanEstimate
    waking: MeanEstimate
    lingering: MeanEstimate
    sleeping: MeanEstimate
    wakes_per_s: MeanEstimate
    dropped: MeanEstimate
    wait_mean_s: MeanEstimate
    wait_percentiles_s: dict[float, MeanEstimate]


def simulate(
    events: Events,
    service: ServiceTimes,
    sleep: Sleep,
    queue: int | None,
    count: int = 20_000,
    seed: int = 0,
    warmup: float = 0.1,
    percentiles: Sequence[float] = PERCENTILES,
) -> SimulatedQueue:
    """Simulate ``count`` events and return the figures of all events but the first share ``warmup``. The same seed
    gives the same figures."""
    rng = np.random.default_rng(seed)
    # Times are integers in ticks of at most a millionth of the mean service time and of the mean time between events.
    # So sums are exact, and equal times stay equal.
    tick = 10.0 ** (math.floor(math.log10(min(service.mean_s, 1 / events.rate_hz))) - 6)
    arrivals = np.rint(events.arrivals(count, rng) / tick).astype(np.int64).tolist()
    times = np.rint(service.draw(count, rng) / tick).astype(np.int64).tolist()
    wake, linger = round(sleep.wake_s / tick), round(sleep.linger_s / tick)
    room = math.inf if queue is None else queue
    skip = int(count * warmup)
    per_batch = (count - skip) // _BATCHES
    batch_starts = {skip + b * per_batch for b in range(_BATCHES + 1)}

    heap: list[tuple[int, int, int]] = [(arrivals[0], _ARRIVAL, 0)]
    waiting: deque[int] = deque()
    state, since = _SLEEPING, 0
    spent = [0, 0, 0, 0]
    wakes = drops = epoch = 0  # ``epoch`` numbers the times in which the device lingers
    waits: list[int] = []
    rows: list[list[int]] = []
    push, pop = heapq.heappush, heapq.heappop
    while heap:
        now, kind, number = pop(heap)
        if kind == _ASLEEP and (number != epoch or state != _LINGERING):
            continue  # an event arrived before the device fell asleep
        before = state
        if kind == _ARRIVAL:
            if number in batch_starts:
                snapshot = spent.copy()
                snapshot[state] += now - since
                rows.append([now, *snapshot, wakes, drops, len(waits)])
            if number + 1 < count:
                push(heap, (arrivals[number + 1], _ARRIVAL, number + 1))
            if state == _SLEEPING:
                wakes += 1
                waiting.append(number)
                state = _WAKING
                push(heap, (now + wake, _AWAKE, 0))
            elif state == _LINGERING:
                waits.append(0)
                state = _BUSY
                push(heap, (now + times[number], _DEPARTURE, 0))
            # While the device wakes, the first event has the place in service.
            elif len(waiting) < room + (state == _WAKING):
                waiting.append(number)
            else:
                drops += 1
        elif kind == _ASLEEP:
            state = _SLEEPING
        elif waiting:
            first = waiting.popleft()
            waits.append(now - arrivals[first])
            state = _BUSY
            push(heap, (now + times[first], _DEPARTURE, 0))
        else:
            state = _LINGERING
            epoch += 1
            push(heap, (now + linger, _ASLEEP, epoch))
        if state != before:
            spent[before] += now - since
            since = now
    return _figures(
        np.asarray(rows, dtype=np.float64), np.asarray(waits) * tick, tick, per_batch, count, percentiles
    )


def _estimate(values: Floats) -> MeanEstimate:
    half = _STUDENT * float(np.std(values, ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.inf
    return MeanEstimate(float(np.mean(values)), half)


def _figures(
    rows: Floats, waits: Floats, tick: float, per_batch: int, count: int, percentiles: Sequence[float]
) -> SimulatedQueue:
    """Return the figures of a simulation. ``rows`` has the running totals at the start of each batch: time and time in
    each of the four states in ticks, wakes, drops, and number of waits."""
    table = np.diff(rows, axis=0)
    spans = table[:, 0]
    shares = [_estimate(table[:, 1 + state] / spans) for state in range(4)]
    edges = [int(row[-1]) for row in rows]
    all_waits = waits[edges[0] : edges[-1]]
    batches = [waits[a:b] for a, b in pairwise(edges) if b > a]
    estimates = {}
    for p in percentiles:
        batch_values = np.array([np.quantile(batch, p / 100, method="inverted_cdf") for batch in batches])
        # The percentile is over all waits together, because a mean over the batches' percentiles is biased.
        estimates[p] = MeanEstimate(
            float(np.quantile(all_waits, p / 100, method="inverted_cdf")), _estimate(batch_values).half
        )
    return SimulatedQueue(
        events=count,
        sleeping=shares[_SLEEPING],
        waking=shares[_WAKING],
        utilization=shares[_BUSY],
        lingering=shares[_LINGERING],
        wakes_per_s=_estimate(table[:, 5] / (spans * tick)),
        dropped=_estimate(table[:, 6] / per_batch),
        wait_mean_s=_estimate(np.array([batch.mean() for batch in batches])),
        wait_percentiles_s=estimates,
    )
