"""What MLPerf Inference asks of each scenario.

Sources: inference_rules.adoc of github.com/mlcommons/inference_policies (2026-07-23), sections Scenarios and Load
Generator, and loadgen/mlperf.conf of github.com/mlcommons/inference (LoadGen 6.0.17).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

REVISION = "MLPerf Inference rules of 2026-07, LoadGen 6.0"

#: Seeds of the round, from mlperf.conf.
SAMPLE_SEED = 2747215439041700203
SCHEDULE_SEED = 16159082839903944936

#: Of a bound on a percentile: how sure one must be that the system keeps it.
CONFIDENCE = 0.99

#: A library of samples may be smaller; then the offline query needs only as many.
OFFLINE_SAMPLES = 24_576

#: mlperf.conf's *.Server.target_latency, for models that are no benchmark of MLPerf's.
SERVER_LATENCY_MS = 10.0


@dataclass(frozen=True, slots=True)
class Rules:
    """``percentile``: of latencies, judged by early stopping; None where none is. ``least_queries``: as mlperf.conf has
    it; early stopping asks for as many on its own."""

    scenario: str
    metric: str
    percentile: float | None
    least_s: float = 600.0
    least_queries: int = 1
    least_samples: int = 1
    samples_per_query: int = 1

    def to_json(self) -> dict[str, Any]:
        return {
            "revision": REVISION,
            "least_s": self.least_s,
            "least_queries": self.least_queries,
            "least_samples": self.least_samples,
            "samples_per_query": self.samples_per_query,
            "percentile": self.percentile,
            "confidence": CONFIDENCE if self.percentile is not None else None,
        }


RULES = {
    rules.scenario: rules
    for rules in (
        # 64 queries are the fewest of which early stopping may discard one at the 90th percentile.
        Rules("single-stream", "latency_ms", 90.0, least_queries=64),
        Rules(
            "multi-stream", "latency_ms", 99.0, least_queries=662, least_samples=8 * 662, samples_per_query=8
        ),
        Rules("offline", "samples_per_s", None, least_samples=OFFLINE_SAMPLES),
        Rules("server", "queries_per_s", 99.0),
    )
}
