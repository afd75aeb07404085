"""Tests of the MLPerf scenarios and of the search for the highest rate, mostly with simulated systems on a virtual
clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from arenite.errors import UsageError
from arenite.host.camera.observe.statistics import Statistics
from arenite.host.camera.scenarios.early_stopping import max_late_queries
from arenite.host.camera.scenarios.frame_system import FrameSystem
from arenite.host.camera.scenarios.poisson_arrivals import poisson_arrivals, sample_indices
from arenite.host.camera.scenarios.query_runs import offline_run, server_run, stream_run
from arenite.host.camera.scenarios.rate_search import find_max_rate
from arenite.host.camera.scenarios.rules import RULES
from arenite.host.camera.scenarios.scenario_runs import run_scenario
from arenite.host.camera.serving.model_server import ModelServer
from tests.host.camera.frames.photo_frames import frame_of, photograph
from tests.host.camera.scenarios.simulated_systems import SimulatedSystem, VirtualClock
from tests.host.camera.serving.real_servers import server_of

#: Nanoseconds in a millisecond.
MS = 1_000_000


def one_in(every: int, slow: int, fast: int = 10 * MS):
    """Return a function for the service time of a sample in nanoseconds: ``slow`` for one in ``every`` samples, else
    ``fast``."""
    return lambda number: slow if number % every == every - 1 else fast


def test_single_stream_at_full_length_is_valid() -> None:
    clock = VirtualClock()
    result = stream_run(RULES["single-stream"], SimulatedSystem(clock, one_in(20, 30 * MS)), clock, 600.0)
    assert result.valid
    assert result.value == 10.0, "one query in twenty is slow, so the 90th percentile is fast"
    assert 600.0 <= result.duration_s < 600.1
    assert result.queries == len(result.latencies)
    assert result.latency_ms()["p99"] == 30.0


def test_one_slow_query_in_nine_changes_the_estimate() -> None:
    clock = VirtualClock()
    result = stream_run(RULES["single-stream"], SimulatedSystem(clock, one_in(9, 30 * MS)), clock, 600.0)
    assert result.value == 30.0


def test_a_short_run_is_not_valid() -> None:
    clock = VirtualClock()
    result = stream_run(RULES["single-stream"], SimulatedSystem(clock, lambda n: 10 * MS), clock, 60.0)
    assert not result.valid
    assert result.reasons == ("60.0 s long, the rules require 600 s",)
    assert result.to_json()["valid"] is False


def test_results_are_described_in_a_sentence_and_in_rows() -> None:
    clock = VirtualClock()
    short = stream_run(RULES["single-stream"], SimulatedSystem(clock, lambda n: 10 * MS), clock, 60.0)
    assert short.sentence() == (
        "10.000 ms (90th percentile, estimated on the safe side): not valid: 60.0 s long, the rules require 600 s."
    )
    met_limit = server_run(
        RULES["server"], SimulatedSystem(clock, lambda n: 1 * MS), clock, 600.0, 50.0, 15.0
    )
    assert met_limit.sentence() == "50.000 queries per second: valid."
    rows = dict(met_limit.rows())
    assert rows["later than 15 ms"] == "0"
    assert rows["p50 ms"] == "1.000"
    without_figure = stream_run(
        replace(RULES["single-stream"], min_queries=1), SimulatedSystem(clock, lambda n: 10 * MS), clock, 0.1
    )
    assert without_figure.value is None
    assert without_figure.sentence().startswith("no figure: not valid")
    assert "early stopping needs 64" in without_figure.sentence()


def test_a_slow_system_runs_until_it_has_enough_queries() -> None:
    clock = VirtualClock()
    result = stream_run(RULES["single-stream"], SimulatedSystem(clock, lambda n: 20_000 * MS), clock, 600.0)
    assert result.valid
    assert result.queries == 64
    assert result.duration_s == 64 * 20.0


def test_a_multi_stream_query_has_eight_consecutive_samples() -> None:
    clock = VirtualClock()
    system = SimulatedSystem(clock, one_in(8 * 50, 100 * MS), samples=30)
    result = stream_run(RULES["multi-stream"], system, clock, 600.0)
    assert result.valid
    assert all(query == [(query[0] + k) % 30 for k in range(8)] for query in system.queries)
    assert len({query[0] for query in system.queries}) == 30
    assert result.samples == 8 * result.queries
    # A slow query has one sample of 100 ms and seven of 10 ms.
    assert result.value == 170.0, "one query in fifty is slow, which is more than one in a hundred"
    assert result.latency_ms()["p50"] == 80.0


def test_offline_is_one_query_of_enough_samples() -> None:
    clock = VirtualClock()
    result = offline_run(RULES["offline"], SimulatedSystem(clock, lambda n: 5 * MS), clock, 600.0)
    assert result.valid
    assert result.value == pytest.approx(200.0)
    # A tenth more samples than 200 per second in 600 s.
    assert (result.queries, result.samples) == (1, 132_000)
    assert result.duration_s == pytest.approx(660.0)


def test_an_offline_run_has_a_minimum_of_samples() -> None:
    clock = VirtualClock()
    result = offline_run(RULES["offline"], SimulatedSystem(clock, lambda n: 100 * MS), clock, 600.0)
    assert result.valid
    assert result.samples == 24_576  # the minimum of MLPerf's rules


def test_a_short_offline_run_is_not_valid() -> None:
    clock = VirtualClock()
    result = offline_run(RULES["offline"], SimulatedSystem(clock, lambda n: 5 * MS), clock, 10.0)
    assert [reason.split(",")[0] for reason in result.reasons] == ["11.0 s long", "only 2"]


def test_server_latency_starts_when_a_query_is_due() -> None:
    """Queries that wait behind a slow query are late too."""
    clock = VirtualClock()
    result = server_run(
        RULES["server"], SimulatedSystem(clock, one_in(1000, 500 * MS, 1 * MS)), clock, 600.0, 100.0, 15.0
    )
    assert not result.valid
    assert result.late is not None and result.late > result.queries / 1000
    assert "came after 15 ms" in result.reasons[-1]


def test_server_within_its_latency_limit_is_valid() -> None:
    clock = VirtualClock()
    result = server_run(RULES["server"], SimulatedSystem(clock, lambda n: 1 * MS), clock, 600.0, 100.0, 15.0)
    assert result.valid
    assert result.value == 100.0
    assert result.queries == pytest.approx(60_000, rel=0.02)
    assert 600.0 <= result.duration_s < 600.3


def test_a_server_run_continues_until_late_queries_are_few_enough() -> None:
    clock = VirtualClock()

    def service_ns(number: int) -> int:
        return 50 * MS if number in (5, 150, 290) else 1 * MS

    result = server_run(RULES["server"], SimulatedSystem(clock, service_ns), clock, 600.0, 1.5, 15.0)
    assert result.late is not None and result.late >= 3
    assert result.queries > 900, "1.5 queries per second for 600 s are too few for 3 late queries"
    assert result.valid
    assert max_late_queries(result.queries, 99.0) >= result.late > max_late_queries(result.queries - 1, 99.0)


def test_a_run_at_a_far_too_high_rate_is_aborted() -> None:
    clock = VirtualClock()
    result = server_run(RULES["server"], SimulatedSystem(clock, lambda n: 20 * MS), clock, 600.0, 100.0, 15.0)
    assert result.duration_s < 60
    assert "aborted" in result.reasons[-1]


SHORT = replace(RULES["server"], min_s=60.0)


@pytest.mark.parametrize(("service_ns", "limit"), [(2 * MS, 15.0), (4 * MS, 15.0), (4 * MS, 100.0)])
def test_the_highest_rate_is_found(service_ns: int, limit: float) -> None:
    clock = VirtualClock()
    result = find_max_rate(SHORT, SimulatedSystem(clock, lambda n: service_ns), clock, 60.0, limit)
    assert result.valid
    assert result.value is not None
    above = server_run(
        SHORT, SimulatedSystem(clock, lambda n: service_ns), clock, 60.0, result.value * 1.35, limit
    )
    assert not above.valid
    assert result.trials[-1]["run"] == "full"
    assert any(not trial["good"] for trial in result.trials)


def test_a_system_that_never_meets_the_limit_has_no_valid_rate() -> None:
    clock = VirtualClock()
    result = find_max_rate(RULES["server"], SimulatedSystem(clock, lambda n: 20 * MS), clock, 600.0, 15.0)
    assert not result.valid
    assert not any(trial["good"] for trial in result.trials)


def test_arrivals_are_poisson() -> None:
    """The gaps between arrivals are independent, and their mean equals their standard deviation."""
    gaps = np.diff(list(islice(poisson_arrivals(250.0), 40_000))) / 1e9
    assert gaps.mean() == pytest.approx(1 / 250, rel=0.02)
    assert gaps.std() == pytest.approx(1 / 250, rel=0.03)
    assert abs(np.corrcoef(gaps[:-1], gaps[1:])[0, 1]) < 0.02


def test_arrivals_and_samples_are_reproducible() -> None:
    assert list(islice(poisson_arrivals(10.0), 50)) == list(islice(poisson_arrivals(10.0), 50))
    assert list(islice(poisson_arrivals(10.0, 1), 50)) != list(islice(poisson_arrivals(10.0, 2), 50))
    chosen = list(islice(sample_indices(7, 3), 700))
    assert chosen == list(islice(sample_indices(7, 3), 700))
    assert set(chosen) == set(range(7))


@pytest.fixture(scope="module", params=[1, 2])
def server(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    """A server of a real model with one or two sets of tensors. With two, queries can overlap."""
    model_server = server_of("visual_wake_words", request.param)
    yield model_server
    model_server.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(RULES))
def test_a_real_model_is_measured(server: ModelServer, name: str) -> None:
    frames = [frame_of(photograph(index)) for index in range(4)]
    statistics = Statistics()
    result = run_scenario(
        name, server, frames, duration_s=0.3, latency_ms=500.0, qps=50.0, served=statistics.add
    )
    stages = statistics.summary()["stage_ms"]
    assert set(stages) == {"preprocess", "invoke", "postprocess", "total", "age"}
    assert 0 < stages["invoke"]["p50"] < stages["total"]["p50"] == stages["age"]["p50"]
    assert not result.valid
    assert "the rules require 600 s" in " ".join(result.reasons)
    assert result.samples > 0
    result_json = result.to_json()
    assert (result_json["scenario"], result_json["kind"]) == (name, "measured")
    if name == "offline":
        assert result.value is not None and result.value > 10
    elif name != "server":
        assert 0 < result_json["query_latency_ms"]["min"] <= result_json["query_latency_ms"]["p50"]


def test_overlapped_queries_have_the_same_answers(server: ModelServer) -> None:
    """If queries overlap, every sample still gets its own answer."""
    frames = [frame_of(photograph(index)) for index in range(4)]
    alone = [server.serve(frame).answer for frame in frames]
    answers = []
    original_answer = server.answer
    server.answer = lambda slot=0: answers.append(original_answer(slot)) or answers[-1]  # type: ignore[method-assign, func-returns-value]
    try:
        with FrameSystem(server, frames) as system:
            system.serve([0, 1, 2, 3, 2, 1, 0, 3])
    finally:
        del server.answer
    assert sorted(map(repr, answers)) == sorted(repr(alone[k]) for k in (0, 1, 2, 3, 2, 1, 0, 3))


def test_a_quick_run_is_never_valid() -> None:
    server = server_of("image_classification")
    frames = [frame_of(photograph(0))]

    class Fast(VirtualClock):
        """A clock that advances by 400 ms each time it is read, so that the test does not take 600 s."""

        def now(self) -> int:
            self.time += 400 * MS
            return self.time

    clock = Fast()
    result = run_scenario("single-stream", server, frames, duration_s=600.0, quick=True, clock=clock)
    assert result.reasons[0] == "a quick run"
    assert not result.valid
    server.close()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"name": "burst"}, "no scenario 'burst'"),
        ({"frames": []}, "needs frames"),
        ({"duration_s": 0.0}, "duration of 0"),
        ({"latency_ms": -1.0}, "latency of -1"),
        ({"qps": 0.0}, "rate of 0"),
    ],
)
def test_invalid_arguments_raise_an_error(settings: dict, problem: str) -> None:
    arguments = {"name": "server", "server": object(), "frames": [frame_of(photograph(0))]} | settings
    with pytest.raises(UsageError, match=problem):
        run_scenario(**arguments)
