"""The result of a scenario of MLPerf Inference, with the reasons if the result is not valid."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from arenite.host.camera.scenarios.early_stopping import (
    PercentileEstimate,
    estimate_percentile,
    max_late_queries,
    min_queries,
)
from arenite.host.camera.scenarios.rules import CONFIDENCE, SAMPLE_SEED, SCHEDULE_SEED, Rules

#: The percentiles that LoadGen reports.
PERCENTILES = (50.0, 90.0, 95.0, 97.0, 99.0, 99.9)

NOTE = "measured as MLPerf Inference defines the scenario; not a result reviewed by MLCommons"


@dataclass(frozen=True)
class ScenarioResult:
    """The result of a scenario.

    ``value`` is the value of the scenario's metric: the estimated percentile of the latencies in ms, samples per
    second, or queries per second; None if there were too few queries. ``reasons`` says why the result is not valid; it
    is empty if the result is valid. ``latencies`` has the latencies of the queries in ns, sorted, int64; it is empty
    for the scenario "offline".
    """

    rules: Rules
    value: float | None
    queries: int
    samples: int
    duration_s: float
    reasons: tuple[str, ...]
    latencies: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    stopping: PercentileEstimate | None = None  # the estimate by early stopping
    late: int | None = None  # scenario "server": number of queries with a latency above the bound
    latency_limit_ms: float | None = None
    target_qps: float | None = None  # scenario "server": the mean rate at which queries were sent
    completed_qps: float | None = None  # scenario "server": the rate at which queries were answered
    trials: tuple[dict[str, Any], ...] = ()  # scenario "server": the rates that were tried

    @property
    def valid(self) -> bool:
        return not self.reasons

    def with_trials(self, trials: list[dict[str, Any]]) -> ScenarioResult:
        return replace(self, trials=tuple(trials))

    def with_reason(self, reason: str) -> ScenarioResult:
        return replace(self, reasons=(reason, *self.reasons))

    def latency_ms(self) -> dict[str, float]:
        """Return minimum, mean, maximum and percentiles of the latencies in ms, as LoadGen computes them: percentile p
        is element ``int(n * p / 100)`` of the n sorted latencies."""
        ordered = self.latencies
        if not len(ordered):
            return {}
        record = {"min": ordered[0], "mean": ordered.mean(), "max": ordered[-1]}
        for percent in PERCENTILES:
            record[f"p{percent:g}"] = ordered[int(len(ordered) * (percent / 100))]
        return {name: round(float(value) / 1e6, 6) for name, value in record.items()}

    def sentence(self) -> str:
        """Return a sentence with the value, which says whether the result is valid."""
        units = {
            "latency_ms": "ms",
            "samples_per_s": "samples per second",
            "queries_per_s": "queries per second",
        }
        figure = "no figure" if self.value is None else f"{self.value:,.3f} {units[self.rules.metric]}"
        if self.value is not None and self.rules.metric == "latency_ms":
            figure += f" ({self.rules.percentile:g}th percentile, estimated on the safe side)"
        return f"{figure}: {'valid' if self.valid else 'not valid: ' + '; '.join(self.reasons)}."

    def rows(self) -> list[tuple[str, str]]:
        """Return rows of a table: name and value."""
        record = [("scenario", self.rules.scenario), ("result", self.sentence())]
        record += [("queries", f"{self.queries:,}"), ("samples", f"{self.samples:,}")]
        record.append(("seconds", f"{self.duration_s:,.1f}"))
        record += [(f"{name} ms", f"{value:,.3f}") for name, value in self.latency_ms().items()]
        if self.late is not None:
            record.append((f"later than {self.latency_limit_ms:g} ms", f"{self.late:,}"))
        return record

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "scenario": self.rules.scenario,
            "valid": self.valid,
            "reasons": list(self.reasons),
            "metric": self.rules.metric,
            "value": round(self.value, 6) if self.value is not None else None,
            "kind": "measured",
            "queries": self.queries,
            "samples": self.samples,
            "duration_s": round(self.duration_s, 3),
            "query_latency_ms": self.latency_ms(),
            "rules": self.rules.to_json(),
            "seeds": {"sample": SAMPLE_SEED, "schedule": SCHEDULE_SEED},
            "note": NOTE,
        }
        if self.stopping is not None:
            record["early_stopping"] = {
                "discarded": self.stopping.discarded,
                "queries_needed": self.stopping.needed,
            }
        if self.rules.scenario == "server":
            record["server"] = {
                "latency_limit_ms": self.latency_limit_ms,
                "target_qps": self.target_qps,
                "completed_qps": self.completed_qps,
                "late": self.late,
                "trials": list(self.trials),
            }
        return record


def evaluate_stream(
    rules: Rules, latencies: np.ndarray, duration_s: float, seconds_issued: float
) -> ScenarioResult:
    """Return the result of single-stream or multi-stream. The last query was sent ``seconds_issued`` after the first,
    and the run took ``duration_s``."""
    assert rules.percentile is not None
    ordered = np.sort(latencies)
    reasons = _too_short(rules, seconds_issued) + _too_few(rules, len(ordered))
    estimate = estimate_percentile(ordered, rules.percentile)
    if estimate.value is None and len(ordered) >= rules.min_queries:
        reasons.append(f"only {len(ordered)} queries, early stopping needs {estimate.needed}")
    return ScenarioResult(
        rules,
        estimate.value / 1e6 if estimate.value is not None else None,
        len(ordered),
        len(ordered) * rules.samples_per_query,
        duration_s,
        tuple(reasons),
        ordered,
        estimate,
    )


def evaluate_offline(rules: Rules, samples: int, duration_s: float) -> ScenarioResult:
    """Return the result of the scenario "offline", whose only query had ``samples`` samples."""
    reasons = _too_short(rules, duration_s)
    if samples < rules.min_samples:
        reasons.append(f"only {samples:,} samples, the rules require {rules.min_samples:,}")
    return ScenarioResult(rules, samples / duration_s, 1, samples, duration_s, tuple(reasons))


def evaluate_server(
    rules: Rules,
    latencies: np.ndarray,
    duration_s: float,
    seconds_scheduled: float,
    target_qps: float,
    limit_ms: float,
    aborted: bool = False,
) -> ScenarioResult:
    """Return the result of the scenario "server". The last query was due after ``seconds_scheduled``. ``aborted`` is
    True if the run was ended early because too many queries were late."""
    assert rules.percentile is not None
    ordered = np.sort(latencies)
    limit_ns = round(limit_ms * 1e6)
    late = int(len(ordered) - np.searchsorted(ordered, limit_ns, side="right"))
    reasons = _too_short(rules, seconds_scheduled) + _too_few(rules, len(ordered))
    share = late / len(ordered) if len(ordered) else 1.0
    if aborted:
        reasons.append(f"aborted: {late:,} of {len(ordered):,} queries came after {limit_ms:g} ms")
    elif len(ordered) and ordered[int(len(ordered) * (rules.percentile / 100))] > limit_ns:
        reasons.append(f"{100 * share:.2f} % of the queries came after {limit_ms:g} ms")
    elif max_late_queries(len(ordered), rules.percentile) < late:
        reasons.append(
            f"{late:,} late queries: {CONFIDENCE:.0%} confidence needs {min_queries(late, rules.percentile):,} queries "
            f"or more, but there were {len(ordered):,}"
        )
    return ScenarioResult(
        rules,
        target_qps,
        len(ordered),
        len(ordered),
        duration_s,
        tuple(reasons),
        ordered,
        None,
        late,
        limit_ms,
        target_qps,
        round((len(ordered) - 1) / duration_s, 3) if duration_s else None,
    )


def _too_short(rules: Rules, seconds: float) -> list[str]:
    return [f"{seconds:.1f} s long, the rules require {rules.min_s:g} s"] if seconds < rules.min_s else []


def _too_few(rules: Rules, queries: int) -> list[str]:
    if queries >= rules.min_queries:
        return []
    return [f"only {queries} queries, the rules require {rules.min_queries}"]
