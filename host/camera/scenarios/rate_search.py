"""Search for the highest rate of Poisson arrivals at which the 99th percentile of the latencies is below its bound.

As the rules describe, a binary search with short trial runs finds a rate. Then runs of the full length follow, at rates
that fall by a small step until a run is valid. Only the last run is the result.
"""

from __future__ import annotations

from typing import Any

from arenite.host.camera.scenarios.frame_system import Clock, ProgressReport, System
from arenite.host.camera.scenarios.query_runs import server_run, trial_rate
from arenite.host.camera.scenarios.result import ScenarioResult
from arenite.host.camera.scenarios.rules import Rules

#: All trials have the same number of queries, so that their arrival times differ only by a factor and latencies grow
#: with the rate. It is the number of queries that the system can answer in 30 s or in a fifth of the full run,
#: whichever is less, but at least 1000. Trials are evaluated by the plain percentile, without the margin that early
#: stopping requires for few queries.
_TRIAL_S, _TRIAL_SHARE, _TRIAL_QUERIES = 30.0, 1 / 5, 1000
#: The relative precision of the search, and the factor for the rate after a full run that failed.
_PRECISION, _STEP = 0.02, 0.97
#: The maximum number of full runs.
_MAX_FULL_RUNS = 5


def find_max_rate(
    rules: Rules,
    system: System,
    clock: Clock,
    seconds: float,
    limit_ms: float,
    report: ProgressReport = lambda text: None,
) -> ScenarioResult:
    """Return the result of the valid full run, or of the last full run if no full run was valid. ``trials`` of the
    result lists all runs."""
    trials: list[dict[str, Any]] = []
    capacity = trial_rate(system, clock)

    queries = max(_TRIAL_QUERIES, capacity * min(_TRIAL_S, seconds * _TRIAL_SHARE))

    def trial(qps: float) -> bool:
        return _is_good(server_run(rules, system, clock, min(queries / qps, seconds), qps, limit_ms), "trial")

    def _is_good(result: ScenarioResult, kind: str) -> bool:
        # Only the latencies decide. ``evaluate_server`` checks whether the run was long enough.
        failed = ("came after",) if kind == "trial" else ("came after", "late queries")
        good = not any(words in reason for reason in result.reasons for words in failed)
        p99 = result.latency_ms().get("p99")
        assert result.target_qps is not None
        trials.append({"run": kind, "qps": round(result.target_qps, 3), "p99_ms": p99, "good": good})
        report(
            f"Server: {result.target_qps:,.1f} queries per second, p99 {p99 or 0:.3f} ms: "
            f"{'good' if good else 'too slow'}."
        )
        return good

    # The search gives up at 1/256 of the capacity: the limit is then too low for the latency of a single query.
    low, high = 0.0, capacity
    while high - low > _PRECISION * high and high > capacity / 256:
        middle = (low + high) / 2
        if trial(middle):
            low = middle
        else:
            high = middle
    # If no trial was good, make the full run at the lowest rate; its result has the reasons.
    rate = low or high
    full_runs = 0
    while True:
        result = server_run(rules, system, clock, seconds, rate, limit_ms)
        full_runs += 1
        if _is_good(result, "full") or full_runs == _MAX_FULL_RUNS:
            return result.with_trials(trials)
        rate *= _STEP
