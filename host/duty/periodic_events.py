"""Compute the figures of periodic and recorded events.

The wait W' of each event follows from the wait W and the service time S of the previous event and the time T between
them: W' = max(0, W + S − T) (D. V. Lindley, Proceedings of the Cambridge Philosophical Society 48 (1952)), plus the
time to wake if the device slept. For one fixed service time (D/D/1) this is computed event by event, exactly. For
periodic events and a distribution of service times (D/G/1), the distribution of W is iterated on a lattice, a grid of
equal time steps, until it converges. For a distribution with a limited queue or recorded events, events are replayed
with random service times.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np

from arenite.host.duty.events import Events, PeriodicEvents, RecordedEvents
from arenite.host.duty.poisson_queue import kingman_bound
from arenite.host.duty.queue_figures import (
    PERCENTILES,
    Queueing,
    Sleep,
    lattice_percentiles,
    overload_error,
    split,
)
from arenite.host.duty.service import ServiceTimes

#: The number of events to replay with random service times: normally, and with a utilization close to 1.
_REPLAYED, _REPLAYED_LONG = 60_000, 400_000
#: Above this utilization, the chain of D/G/1 takes too long to converge.
_MAX_CHAIN_UTILIZATION = 0.95


def periodic_queue(
    period_s: float,
    service: ServiceTimes,
    sleep: Sleep,
    queue: int | None,
    percentiles: Sequence[float] = PERCENTILES,
) -> Queueing:
    """Return the figures for one event every ``period_s`` seconds. ``queue``: the number of waiting places; None for no
    limit. Raises ``UsageError`` if an unlimited queue never stops growing."""
    if not service.fixed and queue is None and service.mean_s <= _MAX_CHAIN_UTILIZATION * period_s:
        return _dg1(period_s, service, sleep, percentiles)
    return replay(PeriodicEvents(period_s), service, sleep, queue, percentiles)


def _dg1(period_s: float, service: ServiceTimes, sleep: Sleep, percentiles: Sequence[float]) -> Queueing:
    """Return the figures of D/G/1 with an unlimited queue, from the distribution of the wait on a lattice."""
    rho = service.mean_s / period_s
    deviation = math.sqrt(max(service.square_s2 - service.mean_s**2, 0.0))
    longest = float(service.points[-1])
    # The lattice reaches 30 times Kingman's bound of the mean wait; the probability of a longer wait is about e^-30.
    reach = longest + sleep.wake_s + 15 * deviation**2 / (period_s * (1 - rho)) + 4 * period_s
    # Lattice steps per period: if possible, 100 steps per service.
    per_period = max(16, min(256, int(100 * period_s / service.mean_s)))
    step = period_s / per_period
    while reach / step > 1 << 15 and per_period > 16:
        per_period //= 2
        step = period_s / per_period
    size = 1 << math.ceil(math.log2((reach + longest) / step + 4))
    services = np.fft.rfft(
        split(service.points, np.full(service.points.size, 1 / service.points.size), step, size)
    )
    woken = split(np.array([sleep.wake_s]), np.ones(1), step, size)
    # Idle time of an event that ends in this cell of its period.
    idle = (per_period - np.arange(per_period)) * step
    # Share of the cell in which the device sleeps.
    asleep = np.clip((idle - sleep.linger_s) / step + 0.5, 0, 1)
    wait = np.eye(1, size)[0]
    # ``done`` is the distribution of the time from an event to the end of its service, and ``sleeps`` the probability
    # that the device sleeps before the next event.
    done, sleeps = wait, 0.0
    for _ in range(8000):
        done = np.maximum(np.fft.irfft(np.fft.rfft(wait) * services, size), 0.0)
        sleeps = float(done[:per_period] @ asleep)
        after = np.zeros(size)
        after[: size - per_period] = done[per_period:]
        after[0] += float(done[:per_period] @ (1 - asleep))
        after += sleeps * woken
        after /= after.sum()
        change = float(np.abs(after - wait).sum())
        wait = after
        if change < 1e-7 * (1 - rho):
            break
    lingering = float(done[:per_period] @ np.minimum(idle, sleep.linger_s)) / period_s
    waking = sleeps * sleep.wake_s / period_s
    bound = kingman_bound(period_s, service)
    notes = () if sleep.wake_s else (f"Kingman's bound of the mean wait: {bound:.3g} s",)
    return Queueing(
        method=f"D/G/1{' with waking' if sleep.wake_s else ''}: Lindley's chain on a lattice",
        offered=rho,
        utilization=rho,
        waking=waking,
        lingering=lingering,
        sleeping=max(1 - rho - waking - lingering, 0.0),
        wakes_per_s=sleeps / period_s,
        served_per_s=1 / period_s,
        dropped=0.0,
        wait_mean_s=float(np.arange(size) @ wait) * step,
        wait_percentiles_s=lattice_percentiles(wait, step, percentiles),
        notes=notes,
    )


def replay(
    events: Events,
    service: ServiceTimes,
    sleep: Sleep,
    queue: int | None,
    percentiles: Sequence[float] = PERCENTILES,
    seed: int = 1,
) -> Queueing:
    """Compute the services of the events one after the other and return the figures.

    The result is exact for a fixed service time. Otherwise 60,000 events (400,000 with a utilization close to 1) have
    random service times. A recording is repeated completely, at least twice; its first repetition is warm-up and does
    not count. Raises ``UsageError`` if an unlimited queue never stops growing.
    """
    offered = events.rate_hz * service.mean_s
    max_offered = (
        1 + 1e-9 if isinstance(events, PeriodicEvents) and service.fixed and not sleep.wake_s else 1 - 1e-9
    )
    if queue is None and offered > max_offered:
        raise overload_error(offered)
    rng = np.random.default_rng(seed)
    if isinstance(events, RecordedEvents):
        length = len(events.times_s)
        rounds = 1 + max(1, -(-_REPLAYED // length) if not service.fixed else -(-2000 // length))
        count, skip = rounds * length, length
    else:
        drawn = _REPLAYED if offered < _MAX_CHAIN_UTILIZATION or queue is not None else _REPLAYED_LONG
        count, skip = (12_000, 2000) if service.fixed else (drawn, drawn // 15)
    arrivals = events.arrivals(count, rng)
    times = service.draw(count, rng)
    # The measured time goes from one multiple of the period to another, so each share is over complete periods.
    if isinstance(events, RecordedEvents):
        begin, end = events.duration_s, count // skip * events.duration_s
    else:
        begin, end = float(arrivals[skip]), float(arrivals[-1] + 1 / events.rate_hz)

    inside: deque[float] = deque()  # departure times of the events in the device
    room = math.inf if queue is None else queue + 1
    last, dropped, wakes = 0.0, 0, 0  # ``last``: the end of the last service
    busy = waking = lingering = 0.0
    waits: list[float] = []

    def measured_part(a: float, b: float) -> float:
        """Return the part of the time from ``a`` to ``b`` that is inside the measured time."""
        return max(0.0, min(b, end) - max(a, begin))

    # Times that differ only by rounding count as equal.
    slack = 1e-6 * min(service.mean_s, 1 / events.rate_hz)
    for i, (now, time) in enumerate(zip(arrivals.tolist(), times.tolist(), strict=True)):
        while inside and inside[0] <= now + slack:
            inside.popleft()
        if len(inside) >= room:
            dropped += i >= skip
            continue
        start = last
        if not inside:
            start = now
            lingering += measured_part(last, min(now, last + sleep.linger_s))
            if start - last > sleep.linger_s + slack:
                wakes += i >= skip
                start += sleep.wake_s
                waking += measured_part(now, start)
        if i >= skip:
            waits.append(max(start - now, 0.0))
        last = start + time
        busy += measured_part(start, last)
        inside.append(last)
    lingering += measured_part(last, last + sleep.linger_s)
    span = end - begin
    shares = [part / span for part in (busy, waking, lingering)]
    percentile_waits = [
        float(np.quantile(waits, p / 100, method="inverted_cdf")) if waits else 0.0 for p in percentiles
    ]
    if isinstance(events, RecordedEvents):
        method = "trace replayed" + ("" if service.fixed else ", random services")
    else:
        kind = "D" if service.fixed else "G"
        method = f"D/{kind}/1{'' if queue is None else f'/{queue + 1}'}: " + (
            "Lindley's recursion, exact" if service.fixed else "Lindley's recursion, random services"
        )
    return Queueing(
        method=method,
        offered=offered,
        utilization=shares[0],
        waking=shares[1],
        lingering=shares[2],
        sleeping=max(1 - sum(shares), 0.0),
        wakes_per_s=wakes / span,
        served_per_s=len(waits) / span,
        dropped=dropped / (count - skip),
        wait_mean_s=float(np.mean(waits)) if waits else 0.0,
        wait_percentiles_s=dict(zip(percentiles, percentile_waits, strict=True)),
    )
