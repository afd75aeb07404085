"""The event simulation is reproducible and exact in simple cases, and its confidence intervals are right."""

from __future__ import annotations

import pytest

from arenite.host.duty.events import PeriodicEvents, PoissonEvents, RecordedEvents
from arenite.host.duty.poisson_queue import md1_mean_wait
from arenite.host.duty.queue_figures import Sleep
from arenite.host.duty.service import ServiceTimes
from arenite.host.duty.simulate import simulate


def test_equal_seeds_give_equal_figures() -> None:
    case = (PoissonEvents(5.0), ServiceTimes.lognormal(0.1, 0.4), Sleep(0.05, 0.02), 3, 5000)
    assert simulate(*case, seed=4) == simulate(*case, seed=4) != simulate(*case, seed=5)


def test_a_periodic_cycle_is_simulated_exactly() -> None:
    simulated = simulate(PeriodicEvents(1.0), ServiceTimes.of(0.2), Sleep(0.1, 0.3), None, 2000)
    shares = [
        e.mean for e in (simulated.waking, simulated.utilization, simulated.lingering, simulated.sleeping)
    ]
    assert shares == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert simulated.wakes_per_s.mean == pytest.approx(1.0) and simulated.wait_mean_s.mean == pytest.approx(
        0.1
    )
    assert simulated.wait_mean_s.half < 1e-9


def test_a_burst_drops_events() -> None:
    simulated = simulate(RecordedEvents((1.0, 1.0, 1.0, 5.0), 10.0), ServiceTimes.of(1.0), Sleep(), 1, 4000)
    assert simulated.dropped.mean == pytest.approx(0.25) and simulated.wait_mean_s.mean == pytest.approx(
        1 / 3, abs=2e-3
    )


def test_the_intervals_have_the_right_coverage() -> None:
    exact_mean = md1_mean_wait(5.0, 0.1)
    runs = [
        simulate(PoissonEvents(5.0), ServiceTimes.of(0.1), Sleep(), None, 12_000, seed).wait_mean_s
        for seed in range(40)
    ]
    covered = sum(abs(run.mean - exact_mean) <= run.half for run in runs)
    assert 34 <= covered <= 40  # 38 of 40 are expected of 95 % intervals
