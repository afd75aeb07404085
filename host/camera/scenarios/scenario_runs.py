"""Asks a system as a scenario does, and times its answers."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

import numpy as np

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import CropWindow, Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.scenarios.early_stopping import min_queries
from arenite.host.camera.scenarios.frame_system import Clock, FrameSystem, ProgressReport, System, WallClock
from arenite.host.camera.scenarios.poisson_arrivals import poisson_arrivals, samples
from arenite.host.camera.scenarios.result import (
    ScenarioResult,
    evaluate_offline,
    evaluate_server,
    evaluate_stream,
)
from arenite.host.camera.scenarios.rules import RULES, SAMPLE_SEED, SERVER_LATENCY_MS, Rules

#: Of ``quick``: long enough for a first figure, and labelled as not valid.
QUICK_DURATION_S = 10.0
#: LoadGen makes the offline query this much longer than the expected rate needs.
_SLACK = 1.1
#: A server run goes on past its duration while a few more queries could settle it, at most so much longer.
_EXTRA = 1.5


def run_scenario(
    name: str,
    server: object,
    frames: Sequence[Frame],
    *,
    duration_s: float | None = None,
    quick: bool = False,
    latency_ms: float | None = None,
    qps: float | None = None,
    clock: Clock | None = None,
    report: ProgressReport = lambda text: None,
    served: Callable[[ServedFrame], None] | None = None,
    window: CropWindow | None = None,
) -> ScenarioResult:
    """One scenario on a server and the pictures of its library.

    Args:
        name: single-stream, multi-stream, offline or server.
        server: a ``ModelServer``, ladder or cascade; ready.
        frames: held by the caller while it runs. Several: one picture stays in the caches of the processor.
        duration_s: instead of the rules' 600; a shorter run is not valid.
        quick: 10 s; never valid.
        latency_ms: of server: the bound on the 99th percentile; 10 by default.
        qps: of server: the rate to judge; without it the highest one that counts is searched.
        served: told of the stages of samples between queries; of a query of many, of every 64th.
        window: the part of each frame that the model is shown.

    Raises:
        UsageError: no such scenario, no frames, or a duration, rate or bound that is not above 0.
    """
    rules = rules_of(name)
    if not frames:
        raise UsageError("A scenario needs frames.", "Give a source that has some.")
    for value, what in ((duration_s, "duration"), (latency_ms, "latency"), (qps, "rate")):
        if value is not None and value <= 0:
            raise UsageError(f"A {what} of {value:g} is not above 0.", "Leave it out for the rules' own.")
    clock = clock or WallClock()
    seconds = duration_s if duration_s is not None else QUICK_DURATION_S if quick else rules.least_s
    with FrameSystem(server, frames, served, window) as system:
        system.warm_up()
        if rules.scenario == "server":
            from arenite.host.camera.scenarios.rate_search import find_max_rate

            limit = latency_ms or SERVER_LATENCY_MS
            if qps is not None:
                result = server_run(rules, system, clock, seconds, qps, limit)
            else:
                result = find_max_rate(rules, system, clock, seconds, limit, report=report)
        elif rules.scenario == "offline":
            result = offline_run(rules, system, clock, seconds, report=report)
        else:
            result = stream_run(rules, system, clock, seconds)
    return result.with_reason("a quick run") if quick else result


def rules_of(name: str) -> Rules:
    """Raises ``UsageError``."""
    known_rules = RULES.get(name.lower().replace("_", "-"))
    if known_rules is None:
        raise UsageError(f"There is no scenario '{name}'.", f"Give one of {', '.join(RULES)}.")
    return known_rules


def stream_run(rules: Rules, system: System, clock: Clock, seconds: float) -> ScenarioResult:
    """One query after the other, each of ``rules.samples_per_query`` neighbouring samples. Ends when the time is over
    and there are as many queries as the rules ask for, which a slow system takes longer for."""
    per, count = rules.samples_per_query, system.samples
    # No query runs over the end of the library: neighbours go round.
    chosen = samples(count, SAMPLE_SEED)
    latencies = array("q")
    begin = now = clock.now()
    end = begin + round(seconds * 1e9)
    issued = begin
    while issued < end or len(latencies) < rules.least_queries:
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
    """All samples in one query, of which there are enough for the time and for the rules."""
    rate = trial_rate(system, clock)
    count = max(rules.least_samples if seconds >= rules.least_s else 1, int(_SLACK * seconds * rate))
    report(f"Offline: one query of {count:,} samples, at about {rate:,.0f} a second.")
    query = [number % system.samples for number in range(count)]
    begin = clock.now()
    system.serve(query)
    seconds = (clock.now() - begin) / 1e9
    system.rest()
    return evaluate_offline(rules, count, seconds)


def server_run(
    rules: Rules, system: System, clock: Clock, seconds: float, qps: float, limit_ms: float
) -> ScenarioResult:
    """Queries at Poisson times of a mean rate; a latency counts from when the query was due.

    Broken off when so many queries are late that no rest of the run could make up for it.
    """
    assert rules.percentile is not None
    limit, end = round(limit_ms * 1e6), round(seconds * 1e9)
    expected = qps * seconds * _EXTRA
    hopeless = (1 - rules.percentile / 100) * (expected + 6 * expected**0.5 + 64)
    chosen = samples(system.samples, SAMPLE_SEED)
    latencies = array("q")
    late, due, aborted = 0, 0, False
    needed, needed_for = 0, -1  # queries in all, for that many late ones
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
        # As in LoadGen the last query is the first one that is due at the end or later.
        if due < end or (len(latencies) < needed and due < end * _EXTRA):
            continue
        if late != needed_for:
            needed, needed_for = min_queries(late, rules.percentile), late
        if len(latencies) >= needed or due >= end * _EXTRA:
            break
    return evaluate_server(rules, np.array(latencies), (now - begin) / 1e9, due / 1e9, qps, limit_ms, aborted)


def trial_rate(system: System, clock: Clock, seconds: float = 1.0) -> float:
    """Samples per second, by a trial."""
    done, begin = 0, clock.now()
    while (spent := clock.now() - begin) < seconds * 1e9 or done == 0:
        system.serve([number % system.samples for number in range(done, done + 16)])
        system.rest()
        done += 16
    return done / (max(spent, 1) / 1e9)
