"""Queueing formulas agree with the literature, with known limits, and with each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.errors import UsageError
from arenite.host.duty.events import Events, PeriodicEvents, PoissonEvents, RecordedEvents
from arenite.host.duty.finite_queue import finite_queue
from arenite.host.duty.model import queueing
from arenite.host.duty.periodic_events import periodic_queue
from arenite.host.duty.poisson_queue import (
    kingman_bound,
    md1_cdf,
    md1_mean_wait,
    md1_percentiles,
    md1_wait_cdf,
    mg1_lattice,
    mg1_mean_wait,
    unlimited_queue,
)
from arenite.host.duty.queue_figures import Queueing, Sleep, lattice_percentiles
from arenite.host.duty.service import ServiceTimes
from tests.example_count import example_count

NO_SLEEP = Sleep()


def test_md1_distribution_agrees_with_erlang() -> None:
    """The distribution of the wait equals Erlang's alternating sum (1909). In floating point, this sum is accurate only
    for small waits."""
    rho = 0.7
    waiting, _ = md1_wait_cdf(rho, 1.0, 200)
    for wait in (0.0, 0.3, 1.0, 2.5, 4.2):
        erlang = (1 - rho) * sum(
            (rho * (k - wait)) ** k / math.factorial(k) * math.exp(-rho * (k - wait))
            for k in range(int(wait) + 1)
        )
        assert md1_cdf(wait, 1.0, waiting, rho) == pytest.approx(erlang, abs=1e-9)


@pytest.mark.slow
def test_md1_percentiles_integrate_to_the_mean() -> None:
    points = [100 * (i + 0.5) / 2000 for i in range(2000)]
    waits = md1_percentiles(8.0, 0.1, points)
    assert np.mean(list(waits.values())) == pytest.approx(md1_mean_wait(8.0, 0.1), rel=2e-3)


def test_the_lattice_agrees_with_the_exact_distribution_and_its_own_mean() -> None:
    """The lattice is a grid of equal steps with the probability of each wait."""
    service = ServiceTimes.of(0.1)
    masses, step = mg1_lattice(8.0, service, NO_SLEEP)
    assert float(np.arange(masses.size) @ masses) * step == pytest.approx(md1_mean_wait(8.0, 0.1), rel=1e-3)
    exact = md1_percentiles(8.0, 0.1, (50, 90, 99))
    percentiles = lattice_percentiles(masses, step, (50, 90, 99))
    for p, wait in exact.items():
        assert percentiles[p] == pytest.approx(wait, abs=0.001)
    variable_service, sleep = ServiceTimes.lognormal(0.1, 0.5), Sleep(0.07, 0.02)
    masses, step = mg1_lattice(6.0, variable_service, sleep)
    assert float(np.arange(masses.size) @ masses) * step == pytest.approx(
        mg1_mean_wait(6.0, variable_service, sleep), rel=1e-3
    )


def test_exponential_service_gives_the_mm1_queue() -> None:
    """With exponential service times, the figures equal the formulas of M/M/1, P(W > t) = ρ·e^-(μ-λ)t, and of M/M/1/K,
    P(full) = (1-ρ)ρ^K / (1-ρ^(K+1)) (wait W, arrival rate λ, service rate μ, ρ = λ/μ)."""
    mu, rate = 10.0, 7.0
    quantiles = (np.arange(20000) + 0.5) / 20000
    service = ServiceTimes(tuple((-np.log1p(-quantiles) / mu).tolist()))
    figures = unlimited_queue(rate, service, NO_SLEEP, (90, 99))
    rho = rate / mu
    assert figures.wait_mean_s == pytest.approx(rho / (mu - rate), rel=0.005)
    for p, wait in figures.wait_percentiles_s.items():
        assert wait == pytest.approx(math.log(rho / (1 - p / 100)) / (mu - rate), rel=0.03)
    places = 3
    loss = (1 - rho) * rho ** (places + 1) / (1 - rho ** (places + 2))
    assert finite_queue(rate, service, NO_SLEEP, places).dropped == pytest.approx(loss, rel=0.01)


def test_without_a_queue_erlangs_loss_formula_holds() -> None:
    for service in (ServiceTimes.of(0.2), ServiceTimes.lognormal(0.2, 0.8)):
        figures = finite_queue(4.0, service, NO_SLEEP, 0)
        # The offered load is a = 4 events per second x 0.2 s, and the loss a / (1 + a).
        assert figures.dropped == pytest.approx(0.8 / 1.8, rel=1e-6)
        assert figures.wait_mean_s == pytest.approx(0, abs=1e-12)


def test_md1k_loss_has_its_known_value() -> None:
    """For M/D/1/2, which has one waiting place, the two-state chain gives a loss of 1 - 1 / (ρ + e^-ρ)."""
    rho = 0.9
    assert finite_queue(0.9, ServiceTimes.of(1.0), NO_SLEEP, 1).dropped == pytest.approx(
        1 - 1 / (rho + math.exp(-rho)), rel=1e-9
    )


@pytest.mark.parametrize("service", [ServiceTimes.of(0.1), ServiceTimes.lognormal(0.1, 0.5)])
@pytest.mark.parametrize("sleep", [NO_SLEEP, Sleep(0.05, 0.03)])
def test_a_long_queue_agrees_with_an_unlimited_one(service: ServiceTimes, sleep: Sleep) -> None:
    limited, unlimited = (
        finite_queue(5.0, service, sleep, 60, (50, 95)),
        unlimited_queue(5.0, service, sleep, (50, 95)),
    )
    assert limited.dropped < 1e-6
    assert limited.wait_mean_s == pytest.approx(unlimited.wait_mean_s, rel=2e-3)
    assert limited.sleeping == pytest.approx(unlimited.sleeping, rel=1e-3)
    for p, wait in unlimited.wait_percentiles_s.items():
        assert limited.wait_percentiles_s[p] == pytest.approx(wait, abs=0.003)


def test_overload_drops_all_events_above_the_capacity() -> None:
    figures = finite_queue(1e6, ServiceTimes.of(1.0), NO_SLEEP, 4)
    assert figures.utilization == pytest.approx(1.0) and figures.dropped == pytest.approx(1 - 1e-6)
    # An accepted event takes the last place of a full queue.
    assert figures.wait_mean_s == pytest.approx(4.0, rel=0.01)
    assert figures.wait_percentiles_s[50] == pytest.approx(4.0, rel=0.01)


def test_figures_of_periodic_events_agree_with_hand_calculations() -> None:
    idle_half = periodic_queue(0.1, ServiceTimes.of(0.04), Sleep(0.02, 0.0), None)
    assert idle_half.wait_mean_s == pytest.approx(0.02) and idle_half.wakes_per_s == pytest.approx(10.0)
    assert (idle_half.utilization, idle_half.waking, idle_half.sleeping) == pytest.approx((0.4, 0.2, 0.4))
    # Each service ends when the next event arrives, so no event is dropped.
    fully_busy = periodic_queue(0.1, ServiceTimes.of(0.1), NO_SLEEP, 0)
    assert fully_busy.dropped == 0 and fully_busy.utilization == pytest.approx(1.0)
    overloaded = periodic_queue(0.1, ServiceTimes.of(0.15), NO_SLEEP, 0)
    assert overloaded.dropped == pytest.approx(0.5, abs=1e-3)
    variable_service = ServiceTimes.lognormal(0.08, 0.3)
    assert (
        0
        < periodic_queue(0.1, variable_service, NO_SLEEP, None).wait_mean_s
        < kingman_bound(0.1, variable_service)
    )
    lingering = periodic_queue(0.1, ServiceTimes.of(0.04), Sleep(0.02, 0.2), None)
    assert lingering.wakes_per_s == 0 and lingering.lingering == pytest.approx(0.6)


def test_a_burst_in_a_trace_waits_and_drops() -> None:
    trace = RecordedEvents((1.0, 1.0, 1.0, 5.0), 10.0)
    figures = queueing(trace, ServiceTimes.of(1.0), 1, NO_SLEEP, (50, 99))
    assert figures.dropped == pytest.approx(0.25) and figures.utilization == pytest.approx(0.3)
    assert figures.wait_mean_s == pytest.approx(1 / 3) and figures.wait_percentiles_s[99] == pytest.approx(
        1.0
    )


def assert_plausible(q: Queueing) -> None:
    """Check that all figures are in their ranges and consistent with each other."""
    shares = (q.utilization, q.waking, q.lingering, q.sleeping)
    assert all(-1e-9 <= share <= 1 + 1e-9 for share in shares)
    assert sum(shares) == pytest.approx(1, abs=2e-3)
    assert -1e-12 <= q.dropped <= 1 and q.wait_mean_s >= 0 and math.isfinite(q.wait_mean_s)
    waits = list(q.wait_percentiles_s.values())
    assert all(math.isfinite(w) and w >= 0 for w in waits) and waits == sorted(waits)
    assert q.queue_mean == pytest.approx(q.served_per_s * q.wait_mean_s)


@pytest.mark.slow
@settings(max_examples=example_count(80), deadline=None)
@given(
    mean=st.floats(1e-6, 1e3),
    offered=st.floats(1e-6, 50),
    variation=st.sampled_from([0.0, 0.2, 1.5]),
    wake=st.sampled_from([0.0, 1e-3, 1.0, 100.0]),
    linger=st.sampled_from([0.0, 0.5, 20.0]),
    queue=st.sampled_from([None, 0, 1, 7, 100, 400, 5000]),
    period=st.booleans(),
)
def test_any_device_gives_plausible_figures_or_an_error(
    mean: float, offered: float, variation: float, wake: float, linger: float, queue: int | None, period: bool
) -> None:
    service = ServiceTimes.lognormal(mean, variation) if variation else ServiceTimes.of(mean)
    events: Events = PeriodicEvents(mean / offered) if period else PoissonEvents(offered / mean)
    try:
        figures = queueing(events, service, queue, Sleep(wake * mean, linger * mean))
    except UsageError as error:
        assert error.hint and (offered >= 0.99 or queue in (400, 5000))
        return
    assert_plausible(figures)


def test_errors_name_the_value() -> None:
    with pytest.raises(UsageError, match=r"utilization would be 1\.2"):
        unlimited_queue(12.0, ServiceTimes.of(0.1), NO_SLEEP)
    with pytest.raises(UsageError, match="utilization would be 2"):
        periodic_queue(0.1, ServiceTimes.lognormal(0.2, 0.3), NO_SLEEP, None)
    with pytest.raises(UsageError, match="period"):
        PeriodicEvents(0)
    with pytest.raises(UsageError, match="rate of the events"):
        PoissonEvents(math.inf)
    with pytest.raises(UsageError, match="ascending"):
        RecordedEvents((2.0, 1.0), 3.0)
    with pytest.raises(UsageError, match="last event is at 2"):
        RecordedEvents((1.0, 2.0), 1.5)
    with pytest.raises(UsageError, match="no events"):
        RecordedEvents((), 1.0)
    with pytest.raises(UsageError, match="duration"):
        RecordedEvents.recorded([1.0])
    with pytest.raises(UsageError, match="service time"):
        ServiceTimes.of([0.1, -0.2])
    with pytest.raises(UsageError, match="list of service times is empty"):
        ServiceTimes.of([])
