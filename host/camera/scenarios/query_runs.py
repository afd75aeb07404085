"""Send queries to a system in the order and at the times of a scenario, and time its answers."""

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

#: LoadGen makes the offline query this much longer than the expected rate needs.
_SLACK = 1.1
#: A server run may go on past its duration while a few more queries could settle it, up to this many times as long.
_EXTRA = 1.5


def stream_run(rules: Rules, system: System, clock: Clock, seconds: float) -> ScenarioResult:
    """Send one query after the other, each of ``rules.samples_per_query`` neighbouring samples. The run ends when the
    time is over and there are as many queries as the rules require, which takes longer on a slow system."""
    per, count = rules.samples_per_query, system.samples
    # Neighbouring samples continue at the beginning of the library when they reach its end.
    chosen = sample_indices(count, SAMPLE_SEED)
    latencies = array("q")
    begin = now = clock.now()
    end = begin + round(seconds * 1e9)
    issued = begin
    while issued < end or len(latencies) < rules.min_queries:
        first = next(chosen)
        query = [first] if per == 1 else [(first + k) % count for k in range(per)]
        issued = clock.now()
        system.serve(query)
        now = clock.now()
        latencies.append(now - issued)
        system.rest()
    return evaluate_stream(rules, np.array(latencies), (now - begin) / 1e9, (issued - begin) / 1e9)


def offline_run(
    rules: Rules, system: System, clock: Clock, seconds: float, report: ProgressReport = lambda text: None
) -> ScenarioResult:
    """Send all samples in one query, as many as the duration and the rules require."""
    rate = trial_rate(system, clock)
    count = max(rules.min_samples if seconds >= rules.min_s else 1, int(_SLACK * seconds * rate))
    report(f"Offline: one query of {count:,} samples, at about {rate:,.0f} per second.")
    query = [number % system.samples for number in range(count)]
    begin = clock.now()
    system.serve(query)
    seconds = (clock.now() - begin) / 1e9
    system.rest()
    return evaluate_offline(rules, count, seconds)


def server_run(
    rules: Rules, system: System, clock: Clock, seconds: float, qps: float, limit_ms: float
) -> ScenarioResult:
    """Send queries at Poisson times of a mean rate; a latency counts from the time at which the query was due.

    The run is aborted when more queries are late than the rest of it could make up for.
    """
    assert rules.percentile is not None
    limit, end = round(limit_ms * 1e6), round(seconds * 1e9)
    expected = qps * seconds * _EXTRA
    hopeless = (1 - rules.percentile / 100) * (expected + 6 * expected**0.5 + 64)
    chosen = sample_indices(system.samples, SAMPLE_SEED)
    latencies = array("q")
    late, due, aborted = 0, 0, False
    needed, needed_for = 0, -1  # queries in all that ``needed_for`` late ones require
    begin = now = clock.now()
    for due in poisson_arrivals(qps):
        at = begin + due
        clock.sleep_until(at)
        system.serve([next(chosen)])
        now = clock.now()
        latencies.append(now - at)
        system.rest()
        late += now - at > limit
        if late > hopeless:
            aborted = True
            break
        # As in LoadGen, the last query is the first one that is due at the end or later.
        if due < end or (len(latencies) < needed and due < end * _EXTRA):
            continue
        if late != needed_for:
            needed, needed_for = min_queries(late, rules.percentile), late
        if len(latencies) >= needed or due >= end * _EXTRA:
            break
    return evaluate_server(rules, np.array(latencies), (now - begin) / 1e9, due / 1e9, qps, limit_ms, aborted)


def trial_rate(system: System, clock: Clock, seconds: float = 1.0) -> float:
    """Return the samples per second, measured in a trial."""
    done, begin = 0, clock.now()
    while (spent := clock.now() - begin) < seconds * 1e9 or done == 0:
        system.serve([number % system.samples for number in range(done, done + 16)])
        system.rest()
        done += 16
    return done / (max(spent, 1) / 1e9)
