"""Tests that Arenite computes the same scenario results as MLCommons' LoadGen from the latencies that LoadGen
measured."""

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
#: The duration of each LoadGen run.
SECONDS = 0.5


@dataclass
class Run:
    """The results of a LoadGen run: LoadGen's summary as text, and three arrays with a value per sample: its latency
    (ns), the time at which its query was due (ns), and the number of its query."""

    summary: str
    latencies: np.ndarray
    due: np.ndarray
    query: np.ndarray

    def number(self, name: str) -> float:
        """Return the number after ``name`` in the summary."""
        match = re.search(rf"{re.escape(name)}\s*:\s*([\d.e+]+)", self.summary)
        assert match is not None, name
        return float(match[1])

    def word(self, name: str) -> str:
        """Return the word after ``name`` in the summary."""
        match = re.search(rf"{re.escape(name)}\s*:\s*(\w+)", self.summary)
        assert match is not None, name
        return match[1]


#: A sample in LoadGen's trace: due time (µs), number of the query, latency (ns).
_SAMPLE = re.compile(r'"name":"Sample".*"ph":"b".*"ts":([\d.]+).*"query_seq":(\d+).*"complete_ns":(\d+)')


def run(scenario: str, folder: Path, rate: float = 200.0, limit_ms: float = 50.0) -> Run:
    """Run LoadGen with a real model in a child process. The arguments are those of ``loadgen_child.main``."""
    photograph(0)  # skips the test if the photographs cannot be fetched
    child = [sys.executable, "-m", "tests.host.camera.scenarios.loadgen_child"]
    process = subprocess.run(
        [*child, scenario, str(folder), str(SECONDS), str(rate), str(limit_ms)],
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    rows = [
        (round(float(match[1]) * 1000), int(match[2]), int(match[3]))
        for match in map(_SAMPLE.search, (folder / "mlperf_log_trace.json").read_text().splitlines())
        if match
    ]
    due, query, latencies = np.array(sorted(rows, key=lambda row: row[1])).T
    return Run((folder / "mlperf_log_summary.txt").read_text(), latencies, due - due[0], query)


def check_latencies(loadgen: Run, latency_ms: dict[str, float]) -> None:
    """Check that the statistics of latencies agree with LoadGen's summary."""
    for name, ours in (
        ("Min latency (ns)", "min"),
        ("Max latency (ns)", "max"),
        ("50.00", "p50"),
        ("99.90", "p99.9"),
    ):
        theirs = loadgen.number(name if "latency" in name else f"{name} percentile latency (ns)")
        assert latency_ms[ours] == pytest.approx(theirs / 1e6, abs=1e-6)
    assert latency_ms["mean"] == pytest.approx(loadgen.number("Mean latency (ns)") / 1e6, abs=2e-6)


def test_single_stream_results_agree_with_loadgen(tmp_path: Path) -> None:
    loadgen = run("single-stream", tmp_path)
    rules = replace(RULES["single-stream"], min_s=SECONDS)
    ours = evaluate_stream(rules, loadgen.latencies, 2 * SECONDS, 2 * SECONDS)
    assert ours.value is not None
    assert round(ours.value * 1e6) == loadgen.number("Early stopping 90.0th percentile estimate")
    assert ours.stopping is not None
    assert f"Would discard {ours.stopping.discarded} highest latency queries" in loadgen.summary
    assert f"Processed at least {ours.stopping.needed} queries ({ours.queries})" in loadgen.summary
    assert loadgen.word("Result is") == "VALID"
    assert ours.valid
    check_latencies(loadgen, ours.latency_ms())
    estimate_p99 = estimate_percentile(np.sort(loadgen.latencies), 99.0)
    if estimate_p99.value is not None:
        assert estimate_p99.value == loadgen.number("Early stopping 99.0th percentile estimate")


def test_multi_stream_results_agree_with_loadgen(tmp_path: Path) -> None:
    loadgen = run("multi-stream", tmp_path)
    queries = np.array(
        [loadgen.latencies[loadgen.query == number].max() for number in np.unique(loadgen.query)]
    )
    assert set(np.bincount(loadgen.query)) == {8}
    ours = evaluate_stream(replace(RULES["multi-stream"], min_s=SECONDS), queries, 2 * SECONDS, 2 * SECONDS)
    assert ours.value is not None
    assert round(ours.value * 1e6) == loadgen.number("Early stopping 99.0th percentile estimate")
    assert ours.valid
    assert loadgen.word("Result is") == "VALID"
    check_latencies(loadgen, ours.latency_ms())


def test_offline_results_agree_with_loadgen(tmp_path: Path) -> None:
    loadgen = run("offline", tmp_path, rate=500.0)
    assert len(loadgen.latencies) == 275, "a tenth more than the expected rate times the duration"
    ours = evaluate_offline(RULES["offline"], len(loadgen.latencies), loadgen.latencies.max() / 1e9)
    assert ours.value == pytest.approx(loadgen.number("Samples per second"), rel=1e-4)


@pytest.mark.parametrize("limit_ms", [50.0, 0.05])
def test_server_results_agree_with_loadgen(tmp_path: Path, limit_ms: float) -> None:
    """One of the latency limits can be met, the other cannot."""
    rate = 600.0
    loadgen = run("server", tmp_path, rate, limit_ms)
    count = len(loadgen.due)
    schedule = list(islice(poisson_arrivals(rate), count))
    assert schedule == loadgen.due.tolist(), "the same arrivals, to the nanosecond"
    assert schedule[-2] < SECONDS * 1e9 <= schedule[-1]
    rules = replace(RULES["server"], min_s=SECONDS)
    ours = evaluate_server(rules, loadgen.latencies, SECONDS, schedule[-1] / 1e9, rate, limit_ms)
    assert loadgen.word("Result is") == ("VALID" if ours.valid else "INVALID")
    check_latencies(loadgen, ours.latency_ms())
    if not ours.valid:
        assert ours.late is not None
        missing_queries = min_queries(ours.late, 99.0) - count
        assert f"Would need to run at least {missing_queries} more queries" in loadgen.summary
