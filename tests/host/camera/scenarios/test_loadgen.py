"""Our figures against those of MLCommons' LoadGen, of the very latencies that it measured on our system."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from arenite.host.camera.scenarios.early_stopping import estimate_percentile, min_queries
from arenite.host.camera.scenarios.poisson_arrivals import poisson_arrivals
from arenite.host.camera.scenarios.result import evaluate_offline, evaluate_server, evaluate_stream
from arenite.host.camera.scenarios.rules import RULES
from tests.host.camera.frames.photo_frames import photograph

pytestmark = pytest.mark.slow

pytest.importorskip("mlperf_loadgen", reason="mlcommons-loadgen is not installed")
SECONDS = 0.5


@dataclass
class Run:
    """``latencies`` of each sample and ``due`` of its query, ns; ``query`` of each sample."""

    summary: str
    latencies: np.ndarray
    due: np.ndarray
    query: np.ndarray

    def number(self, name: str) -> float:
        found = re.search(rf"{re.escape(name)}\s*:\s*([\d.e+]+)", self.summary)
        assert found is not None, name
        return float(found[1])

    def said(self, name: str) -> str:
        found = re.search(rf"{re.escape(name)}\s*:\s*(\w+)", self.summary)
        assert found is not None, name
        return found[1]


_SAMPLE = re.compile(r'"name":"Sample".*"ph":"b".*"ts":([\d.]+).*"query_seq":(\d+).*"complete_ns":(\d+)')


def run(scenario: str, folder: Path, rate: float = 200.0, limit_ms: float = 50.0) -> Run:
    photograph(0)  # skips here where there are none
    child = [sys.executable, "-m", "tests.host.camera.scenarios.loadgen_child"]
    made = subprocess.run(
        [*child, scenario, str(folder), str(SECONDS), str(rate), str(limit_ms)],
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert made.returncode == 0, made.stderr
    rows = [
        (round(float(found[1]) * 1000), int(found[2]), int(found[3]))
        for found in map(_SAMPLE.search, (folder / "mlperf_log_trace.json").read_text().splitlines())
        if found
    ]
    due, query, latencies = np.array(sorted(rows, key=lambda row: row[1])).T
    return Run((folder / "mlperf_log_summary.txt").read_text(), latencies, due - due[0], query)


def check_latencies(found: Run, described: dict[str, float]) -> None:
    for name, ours in (
        ("Min latency (ns)", "min"),
        ("Max latency (ns)", "max"),
        ("50.00", "p50"),
        ("99.90", "p99.9"),
    ):
        theirs = found.number(name if "latency" in name else f"{name} percentile latency (ns)")
        assert described[ours] == pytest.approx(theirs / 1e6, abs=1e-6)
    assert described["mean"] == pytest.approx(found.number("Mean latency (ns)") / 1e6, abs=2e-6)


def test_single_stream(tmp_path: Path) -> None:
    found = run("single-stream", tmp_path)
    rules = replace(RULES["single-stream"], min_s=SECONDS)
    ours = evaluate_stream(rules, found.latencies, 2 * SECONDS, 2 * SECONDS)
    assert ours.value is not None
    assert round(ours.value * 1e6) == found.number("Early stopping 90.0th percentile estimate")
    assert ours.stopping is not None
    assert f"Would discard {ours.stopping.discarded} highest latency queries" in found.summary
    assert f"Processed at least {ours.stopping.needed} queries ({ours.queries})" in found.summary
    assert found.said("Result is") == "VALID"
    assert ours.valid
    check_latencies(found, ours.latency_ms())
    other = estimate_percentile(np.sort(found.latencies), 99.0)
    if other.value is not None:
        assert other.value == found.number("Early stopping 99.0th percentile estimate")


def test_multi_stream(tmp_path: Path) -> None:
    found = run("multi-stream", tmp_path)
    queries = np.array([found.latencies[found.query == number].max() for number in np.unique(found.query)])
    assert set(np.bincount(found.query)) == {8}
    ours = evaluate_stream(replace(RULES["multi-stream"], min_s=SECONDS), queries, 2 * SECONDS, 2 * SECONDS)
    assert ours.value is not None
    assert round(ours.value * 1e6) == found.number("Early stopping 99.0th percentile estimate")
    assert ours.valid
    assert found.said("Result is") == "VALID"
    check_latencies(found, ours.latency_ms())


def test_offline(tmp_path: Path) -> None:
    found = run("offline", tmp_path, rate=500.0)
    assert len(found.latencies) == 275, "a tenth more than the expected rate makes in the time"
    ours = evaluate_offline(RULES["offline"], len(found.latencies), found.latencies.max() / 1e9)
    assert ours.value == pytest.approx(found.number("Samples per second"), rel=1e-4)


@pytest.mark.parametrize("limit_ms", [50.0, 0.05])
def test_server(tmp_path: Path, limit_ms: float) -> None:
    """A bound that is kept, and one that cannot be."""
    rate = 600.0
    found = run("server", tmp_path, rate, limit_ms)
    count = len(found.due)
    schedule = list(islice(poisson_arrivals(rate), count))
    assert schedule == found.due.tolist(), "the same arrivals, to the nanosecond"
    assert schedule[-2] < SECONDS * 1e9 <= schedule[-1]
    rules = replace(RULES["server"], min_s=SECONDS)
    ours = evaluate_server(rules, found.latencies, SECONDS, schedule[-1] / 1e9, rate, limit_ms)
    assert found.said("Result is") == ("VALID" if ours.valid else "INVALID")
    check_latencies(found, ours.latency_ms())
    if not ours.valid:
        assert ours.late is not None
        more = min_queries(ours.late, 99.0) - count
        assert f"Would need to run at least {more} more queries" in found.summary
