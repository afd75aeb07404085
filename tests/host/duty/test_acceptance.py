"""Predictions agree with the simulations of events and batteries within 5 % in 110 random cases."""

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

TOLERANCE = 0.05
CASES = 110


def random_case(seed: int) -> tuple[Events, ServiceTimes, int | None, PowerStates]:
    """Return a random case: events of any kind, a mean service time of 1 ms to 1 s, a queue length, and a device with
    or without time to wake and time to linger."""
    rng = np.random.default_rng(seed)
    mean = 10 ** rng.uniform(-3, 0)
    service = (
        ServiceTimes.of(mean) if rng.random() < 0.5 else ServiceTimes.lognormal(mean, rng.uniform(0.1, 0.5))
    )
    queue = [None, 0, int(rng.integers(1, 6))][int(rng.integers(3))]
    offered = rng.uniform(0.05, 0.7) if queue is None else rng.uniform(0.05, 1.6)
    gap = mean / offered
    event_kind = rng.choice(["poisson", "poisson", "periodic", "trace"])
    events: Events
    if event_kind == "poisson":
        events = PoissonEvents(1 / gap)
    elif event_kind == "periodic":
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


def simulate_until_accurate(
    case: tuple[Events, ServiceTimes, int | None, PowerStates], seed: int
) -> SimulatedQueue:
    """Return a simulation with enough events to know the mean wait to 2 %, but at most 320,000 events."""
    events, service, queue, power = case
    count = 20_000
    while True:
        simulated = simulate(events, service, power.sleep, queue, count, seed)
        wait = simulated.wait_mean_s
        if count >= 320_000 or wait.half <= 0.02 * wait.mean:
            return simulated
        count *= 2


def simulated_w(power: PowerStates, simulated: SimulatedQueue) -> float:
    """Return the average power in W that follows from the simulated shares of time."""
    return (
        power.sleep_w * simulated.sleeping.mean
        + power.active_w * simulated.utilization.mean
        + power.lingering_w * simulated.lingering.mean
        + (power.waking_j + power.enter_j) * simulated.wakes_per_s.mean
    )


def differences(
    prediction: Prediction, simulated: SimulatedQueue, power: PowerStates, service: ServiceTimes
) -> dict[str, float]:
    """Return the relative difference of each figure between prediction and simulation. Differences of waits are
    relative to at least 2 % of a service time, those of drops to at least 1 % of the events."""
    q = prediction.queueing
    min_wait_s = 0.02 * service.mean_s
    pairs = {
        "utilisation": (q.utilization, simulated.utilization.mean, 0.0),
        "power": (prediction.power_w, simulated_w(power, simulated), 0.0),
        "mean wait": (q.wait_mean_s, simulated.wait_mean_s.mean, min_wait_s),
        "dropped": (q.dropped, simulated.dropped.mean, 0.01),
        "served": (1 - q.dropped, 1 - simulated.dropped.mean, 0.0),
    }
    for p in (90.0, 95.0):
        pairs[f"p{p:g}"] = (
            q.wait_percentiles_s[p],
            simulated.wait_percentiles_s[p].mean,
            service.mean_s * 0.2,
        )
    return {k: abs(a - b) / max(b, floor, 1e-12) for k, (a, b, floor) in pairs.items()}


@pytest.mark.slow
@pytest.mark.parametrize("group", range(10))
def test_predictions_are_within_five_percent_of_the_simulation(group: int) -> None:
    """The cases are split into ten groups, which can run at the same time."""
    failures = []
    for seed in range(group, CASES, 10):
        case = random_case(seed)
        events, service, queue, power = case
        prediction = predict(events, service, queue, power)
        for figure, difference in differences(
            prediction, simulate_until_accurate(case, 1000 + seed), power, service
        ).items():
            if difference > TOLERANCE:
                failures.append((seed, figure, round(difference, 3), prediction.queueing.method))
    assert not failures


def test_the_cases_cover_every_kind_of_queue() -> None:
    kinds = set()
    for seed in range(CASES):
        events, service, queue, power = random_case(seed)
        length = "endless" if queue is None else "some" if queue else "none"
        kinds.add((type(events).__name__, service.fixed, length, power.wake_s > 0))
    assert len(kinds) >= 30  # of the 36 possible kinds of cases


@pytest.mark.slow
@pytest.mark.parametrize("name", battery_names())
def test_battery_lives_are_within_five_percent_of_the_simulation(name: str) -> None:
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
        # The simulation adds the charge of each event and uses no part of the prediction.
        step_s = min(
            DAY_S, battery.capacity_mah * 3.6 * battery.nominal_v / (sleep + rate * service * peak) / 1000
        )
        simulated_s = simulate_life(
            battery, sleep, (peak - sleep) * service, rate, peak, regulator, celsius, step_s, seed
        )
        assert prediction.life.life_s == pytest.approx(simulated_s, rel=TOLERANCE, abs=2 * step_s), (
            seed,
            kind,
            celsius,
        )
