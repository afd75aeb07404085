"""The discrete-event simulation: the same for the same seed, right where the answer is plain, and honest intervals."""

from __future__ import annotations

import pytest

from arenite.host.duty.events import PeriodicEvents, PoissonEvents, RecordedEvents
from arenite.host.duty.poisson_queue import md1_mean_wait
from arenite.host.duty.queue_figures import Sleep
from arenite.host.duty.service import ServiceTimes
from arenite.host.duty.simulate import simulate


def test_same_seed_same_figures() -> None:
    case = (PoissonEvents(5.0), ServiceTimes.lognormal(0.1, 0.4), Sleep(0.05, 0.02), 3, 5000)
    assert simulate(*case, seed=4) == simulate(*case, seed=4) != simulate(*case, seed=5)


def test_a_plain_cycle_is_counted_exactly() -> None:
    found = simulate(PeriodicEvents(1.0), ServiceTimes.of(0.2), Sleep(0.1, 0.3), None, 2000)
    shares = [e.mean for e in (found.waking, found.utilisation, found.lingering, found.sleeping)]
    assert shares == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert found.wakes_per_s.mean == pytest.approx(1.0) and found.wait_mean_s.mean == pytest.approx(0.1)
    assert found.wait_mean_s.half < 1e-9


def test_a_burst_is_dropped_as_it_must_be() -> None:
    found = simulate(RecordedEvents((1.0, 1.0, 1.0, 5.0), 10.0), ServiceTimes.of(1.0), Sleep(), 1, 4000)
    assert found.dropped.mean == pytest.approx(0.25) and found.wait_mean_s.mean == pytest.approx(
        1 / 3, abs=2e-3
    )


def test_the_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    truth = md1_mean_wait(5.0, 0.1)
    runs = [
        simulate(PoissonEvents(5.0), ServiceTimes.of(0.1), Sleep(), None, 12_000, seed).wait_mean_s
        for seed in range(40)
    ]
    covered = sum(abs(run.mean - truth) <= run.half for run in runs)
    assert 34 <= covered <= 40
