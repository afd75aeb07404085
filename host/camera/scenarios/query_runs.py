"""Send queries to a system in the order and at the times of a scenario, and measure the latencies."""

from __future__ import annotations

from array import array

import numpy as np

from arenite.host.camera.scenarios.early_stopping import min_queries
from arenite.host.camera.scenarios.frame_system import Clock, ProgressReport, System
from arenite.host.camera.scenarios.poisson_arrivals import poisson_arrivals, sample_indices
from arenite.host.camera.scenarios.result import (
    ScenarioResult,
    evaluate_offline,
    evaluate_server,
    evaluate_stream,
)
from arenite.host.camera.scenarios.rules import SAMPLE_SEED, Rules

#: The offline query has this many times the number of samples that the system serves in the duration at the measured
#: rate. LoadGen uses the same factor.
_OFFLINE_SLACK = 1.1
#: A run of the scenario "server" may continue after its duration if further queries can make it valid, but at most for
#: its duration times this factor.
_MAX_EXTENSION = 1.5


def stream_run(rules: Rules, system: System, clock: Clock, seconds: float) -> ScenarioResult:
    """Run single-stream or multi-stream: send one query after the other, each with ``rules.samples_per_query``
    neighboring samples, and return the result. The run ends after ``seconds``, but not before it has the number of
    queries that the rules require."""
    per_query, count = rules.samples_per_query, system.samples
    chosen = sample_indices(count, SAMPLE_SEED)
    latencies = array("q")
    begin = now = clock.now()
    end = begin + round(seconds * 1e9)
    issued = begin
    while issued < end or len(latencies) < rules.min_queries:
        first = next(chosen)
        # Multi-stream: the neighbors of the last sample are the first samples.
        query = [first] if per_query == 1 else [(first + k) % count for k in range(per_query)]
        issued = clock.now()
        system.serve(query)
        now = clock.now()
        latencies.append(now - issued)
        system.between_queries()
    return evaluate_stream(rules, np.array(latencies), (now - begin) / 1e9, (issued - begin) / 1e9)


def offline_run(
    rules: Rules, system: System, clock: Clock, seconds: float, report: ProgressReport = lambda text: None
) -> ScenarioResult:
    """Run the scenario "offline": send one query with as many samples as the duration and the rules require,
    and return the result."""
    rate = trial_rate(system, clock)
    count = max(rules.min_samples if seconds >= rules.min_s else 1, int(_OFFLINE_SLACK * seconds * rate))
    report(f"Offline: one query of {count:,} samples, at about {rate:,.0f} per second.")
    query = [number % system.samples for number in range(count)]
    begin = clock.now()
    system.serve(query)
    seconds = (clock.now() - begin) / 1e9
    system.between_queries()
    return evaluate_offline(rules, count, seconds)


def server_run(
    rules: Rules, system: System, clock: Clock, seconds: float, qps: float, limit_ms: float
) -> ScenarioResult:
    """Run the scenario "server": send queries at the times of Poisson arrivals with the mean rate ``qps`` per second,
    and return the result.

    A latency is measured from the time at which the query was due. A query is late if its latency is above
    ``limit_ms``. The run is aborted as soon as the number of late queries makes a valid result impossible.
    """
    assert rules.percentile is not None
    limit, end = round(limit_ms * 1e6), round(seconds * 1e9)
    # The number of queries in the longest run has a Poisson distribution. ``max_queries`` is above its mean by six
    # standard deviations and 64 queries, so a run practically never has more queries.
    mean_queries = qps * seconds * _MAX_EXTENSION
    max_queries = mean_queries + 6 * mean_queries**0.5 + 64
    max_late = (1 - rules.percentile / 100) * max_queries
    chosen = sample_indices(system.samples, SAMPLE_SEED)
    latencies = array("q")
    late, due, aborted = 0, 0, False
    needed, needed_for = 0, -1  # ``needed`` queries are required if ``needed_for`` are late
    begin = now = clock.now()
    for due in poisson_arrivals(qps):
        at = begin + due
        clock.sleep_until(at)
        system.serve([next(chosen)])
        now = clock.now()
        latencies.append(now - at)
        system.between_queries()
        late += now - at > limit
        if late > max_late:
            aborted = True
            break
        # As in LoadGen, the last query is the first query that is due at the end or later.
        if due < end or (len(latencies) < needed and due < end * _MAX_EXTENSION):
            continue
        if late != needed_for:
            needed, needed_for = min_queries(late, rules.percentile), late
        if len(latencies) >= needed or due >= end * _MAX_EXTENSION:
            break
    return evaluate_server(rules, np.array(latencies), (now - begin) / 1e9, due / 1e9, qps, limit_ms, aborted)


def trial_rate(system: System, clock: Clock, seconds: float = 1.0) -> float:
    """Return the number of samples that the system serves per second, measured in a trial of ``seconds``."""
    served, begin = 0, clock.now()
    while (elapsed := clock.now() - begin) < seconds * 1e9 or served == 0:
        system.serve([number % system.samples for number in range(served, served + 16)])
        system.between_queries()
        served += 16
    return served / (max(elapsed, 1) / 1e9)
