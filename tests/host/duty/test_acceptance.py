"""Predictions against the discrete-event simulation and the day-by-day battery: within 5 % over 110 random cases."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.host.duty.battery import DAY_S, Regulator
from arenite.host.duty.battery_simulation import simulate_life
from arenite.host.duty.events import Events, PeriodicEvents, PoissonEvents, RecordedEvents
from arenite.host.duty.model import PowerStates, Prediction, predict
from arenite.host.duty.service import ServiceTimes
from arenite.host.duty.simulate import SimulatedQueue, simulate
from arenite.profiles.batteries import battery_names, load_battery

WITHIN = 0.05
CASES = 110


def drawn(seed: int) -> tuple[Events, ServiceTimes, int | None, PowerStates]:
    """A random device: service of 1 ms to 1 s, with or without waking and lingering, any kind of events and queue."""
    rng = np.random.default_rng(seed)
    mean = 10 ** rng.uniform(-3, 0)
    service = (
        ServiceTimes.of(mean) if rng.random() < 0.5 else ServiceTimes.lognormal(mean, rng.uniform(0.1, 0.5))
    )
    queue = [None, 0, int(rng.integers(1, 6))][int(rng.integers(3))]
    offered = rng.uniform(0.05, 0.7) if queue is None else rng.uniform(0.05, 1.6)
    gap = mean / offered
    kind = rng.choice(["poisson", "poisson", "periodic", "trace"])
    events: Events
    if kind == "poisson":
        events = PoissonEvents(1 / gap)
    elif kind == "periodic":
        events = PeriodicEvents(gap)
    else:
        events = RecordedEvents.recorded(np.cumsum(rng.gamma(0.7, gap / 0.7, 400)))
    active = 10 ** rng.uniform(-2.5, -0.5)
    power = PowerStates(
        sleep_w=active * 10 ** rng.uniform(-5, -2),
        active_w=active,
        wake_s=rng.choice([0.0, rng.uniform(0.02, 1.0)]) * mean,
        enter_j=rng.choice([0.0, 0.1]) * active * mean,
        linger_s=rng.choice([0.0, rng.uniform(0.1, 2.0)]) * mean,
        linger_w=active * rng.uniform(0.1, 1.0),
    )
    return events, service, queue, power


def settled(case: tuple[Events, ServiceTimes, int | None, PowerStates], seed: int) -> SimulatedQueue:
    """Simulated until its mean wait is known to 2 %, or 320,000 events."""
    events, service, queue, power = case
    count = 20_000
    while True:
        found = simulate(events, service, power.sleep, queue, count, seed)
        wait = found.wait_mean_s
        if count >= 320_000 or wait.half <= 0.02 * wait.mean:
            return found
        count *= 2


def simulated_w(power: PowerStates, found: SimulatedQueue) -> float:
    return (
        power.sleep_w * found.sleeping.mean
        + power.active_w * found.utilisation.mean
        + power.lingering_w * found.lingering.mean
        + (power.waking_j + power.enter_j) * found.wakes_per_s.mean
    )


def differences(
    prediction: Prediction, found: SimulatedQueue, power: PowerStates, service: ServiceTimes
) -> dict[str, float]:
    """Relative differences; of waits over the wait or 2 % of a service, of drops over the drops or 1 % of events."""
    q = prediction.queueing
    small = 0.02 * service.mean_s
    pairs = {
        "utilisation": (q.utilisation, found.utilisation.mean, 0.0),
        "power": (prediction.power_w, simulated_w(power, found), 0.0),
        "mean wait": (q.wait_mean_s, found.wait_mean_s.mean, small),
        "dropped": (q.dropped, found.dropped.mean, 0.01),
        "served": (1 - q.dropped, 1 - found.dropped.mean, 0.0),
    }
    for p in (90.0, 95.0):
        pairs[f"p{p:g}"] = (q.wait_percentiles_s[p], found.wait_percentiles_s[p].mean, service.mean_s * 0.2)
    return {k: abs(a - b) / max(b, least, 1e-12) for k, (a, b, least) in pairs.items()}


@pytest.mark.slow
@pytest.mark.parametrize("group", range(10))
def test_predictions_are_within_five_percent_of_the_simulation(group: int) -> None:
    wrong = []
    for seed in range(group, CASES, 10):
        case = drawn(seed)
        events, service, queue, power = case
        prediction = predict(events, service, queue, power)
        for what, off in differences(prediction, settled(case, 1000 + seed), power, service).items():
            if off > WITHIN:
                wrong.append((seed, what, round(off, 3), prediction.queueing.method))
    assert not wrong


def test_the_cases_cover_every_kind_of_queue() -> None:
    kinds = set()
    for seed in range(CASES):
        events, service, queue, power = drawn(seed)
        length = "endless" if queue is None else "some" if queue else "none"
        kinds.add((type(events).__name__, service.fixed, length, power.wake_s > 0))
    assert len(kinds) >= 30  # of 36


@pytest.mark.slow
@pytest.mark.parametrize("name", battery_names())
def test_battery_lives_are_within_five_percent_of_the_days_counted(name: str) -> None:
    battery = load_battery(name)
    for seed in range(12):
        rng = np.random.default_rng([seed, len(name)])
        rate, service = 10 ** rng.uniform(-3, 0), 10 ** rng.uniform(-3, -1)
        peak = battery.nominal_v * battery.pulse_ma / 1000 * 10 ** rng.uniform(-2, -0.3)
        sleep = peak * 10 ** rng.uniform(-5, -2.5)
        kind = ["none", "linear", "switching"][seed % 3]
        regulator = Regulator(kind, battery.nominal_v * 0.85, 0.88, rng.choice([0.0, 3e-6]))
        celsius = float(rng.uniform(max(battery.coldest_c, -15), 40))
        power = PowerStates(sleep, peak)
        prediction = predict(
            PoissonEvents(rate), service, None, power, battery, regulator=regulator, celsius=celsius
        )
        assert prediction.life is not None
        # What the event takes above rest, each event on its own: nothing of the prediction is used.
        rest = min(
            DAY_S, battery.capacity_mah * 3.6 * battery.nominal_v / (sleep + rate * service * peak) / 1000
        )
        counted = simulate_life(
            battery, sleep, (peak - sleep) * service, rate, peak, regulator, celsius, rest, seed
        )
        assert prediction.life.life_s == pytest.approx(counted, rel=WITHIN, abs=2 * rest), (
            seed,
            kind,
            celsius,
        )
