"""Run a scenario of MLPerf Inference with a server and a set of frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import CropWindow, Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.scenarios.frame_system import Clock, FrameSystem, ProgressReport, WallClock
from arenite.host.camera.scenarios.query_runs import offline_run, server_run, stream_run
from arenite.host.camera.scenarios.rate_search import find_max_rate
from arenite.host.camera.scenarios.result import ScenarioResult
from arenite.host.camera.scenarios.rules import RULES, SERVER_LATENCY_MS, Rules
from arenite.host.camera.serving.frame_server import FrameServer

#: The duration of a ``quick`` run in seconds. It is long enough for a first impression; the result is marked as not
#: valid.
QUICK_DURATION_S = 10.0


def run_scenario(
    name: str,
    server: FrameServer,
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
    """Measure a server in one scenario.

    Args:
        name: single-stream, multi-stream, offline or server.
        server: any server of frames, already warmed up.
        frames: the samples. The caller must not release them during the run. Give several frames, because a single
            frame would stay in the processor's caches.
        duration_s: the duration in seconds instead of the 600 s of the rules; a shorter run is not valid.
        quick: run for 10 s; the result is never valid.
        latency_ms: for the scenario "server", the bound on the 99th percentile of the latencies; 10 by default.
        qps: for the scenario "server", the rate to test; None searches for the highest valid rate.
        clock: the clock; None for the computer's own clock.
        report: called with sentences about the progress.
        served: called between queries with samples and their times; for a query of many samples, with every 64th
            sample.
        window: the part of each frame that the model gets.

    Raises:
        UsageError: there is no such scenario, there are no frames, or a duration, rate or bound is not above 0.
    """
    rules = rules_of(name)
    if not frames:
        raise UsageError("A scenario needs frames.", "Give a source that delivers frames.")
    for value, name_of_value in ((duration_s, "duration"), (latency_ms, "latency"), (qps, "rate")):
        if value is not None and value <= 0:
            raise UsageError(
                f"A {name_of_value} of {value:g} is not above 0.",
                "Leave it out to use the value of the rules.",
            )
    clock = clock or WallClock()
    seconds = duration_s if duration_s is not None else QUICK_DURATION_S if quick else rules.min_s
    with FrameSystem(server, frames, served, window) as system:
        system.warm_up()
        if rules.scenario == "server":
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
    """Return the rules of a scenario. Raises ``UsageError`` if there is no scenario with that name."""
    known_rules = RULES.get(name.lower().replace("_", "-"))
    if known_rules is None:
        raise UsageError(f"There is no scenario '{name}'.", f"Give one of {', '.join(RULES)}.")
    return known_rules
