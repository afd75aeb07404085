"""The rules of MLPerf Inference for each scenario.

Sources: inference_rules.adoc of github.com/mlcommons/inference_policies (2026-07-23), sections Scenarios and Load
Generator, and loadgen/mlperf.conf of github.com/mlcommons/inference (LoadGen 6.0.17).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

REVISION = "MLPerf Inference rules of 2026-07, LoadGen 6.0"

#: The seeds of this round of MLPerf, from mlperf.conf.
SAMPLE_SEED = 2747215439041700203
SCHEDULE_SEED = 16159082839903944936

#: The confidence with which a percentile of the latencies must be below its bound.
CONFIDENCE = 0.99

#: The smallest number of samples in an offline query.
OFFLINE_SAMPLES = 24_576

#: The bound on the latency in ms for models that are not benchmarks of MLPerf: *.Server.target_latency in mlperf.conf.
SERVER_LATENCY_MS = 10.0


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one scenario. ``metric`` names the value of the result. ``percentile`` is the percentile of the
    latencies that early stopping evaluates; None if the scenario does not use one. ``min_s`` is the shortest valid run
    in seconds. ``min_queries`` is the number in mlperf.conf; early stopping requires the same number."""

    scenario: str
    metric: str
    percentile: float | None
    min_s: float = 600.0
    min_queries: int = 1
    min_samples: int = 1
    samples_per_query: int = 1

    def to_json(self) -> dict[str, Any]:
        return {
            "revision": REVISION,
            "least_s": self.min_s,
            "least_queries": self.min_queries,
            "least_samples": self.min_samples,
            "samples_per_query": self.samples_per_query,
            "percentile": self.percentile,
            "confidence": CONFIDENCE if self.percentile is not None else None,
        }


RULES = {
    rules.scenario: rules
    for rules in (
        # With fewer than 64 queries, early stopping may not discard any query at the 90th percentile.
        Rules("single-stream", "latency_ms", 90.0, min_queries=64),
        Rules("multi-stream", "latency_ms", 99.0, min_queries=662, min_samples=8 * 662, samples_per_query=8),
        Rules("offline", "samples_per_s", None, min_samples=OFFLINE_SAMPLES),
        Rules("server", "queries_per_s", 99.0),
    )
}
