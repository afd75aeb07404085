"""Measure the cold start: the time from the start of a new process to its first answer.

The files are in the system's page cache, as after an earlier start, and Python's byte code is cached, as pip does when
it installs a package.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from arenite.errors import ToolError
from benchmarks.camera.pictures import pictures

CHILD = Path(__file__).parent / "children" / "cold_start.py"
_TIMEOUT_S = 60


@dataclass(frozen=True)
class ColdStart:
    """Medians over ``runs`` processes. ``seconds`` is the time from the start of a process to its first answer.
    ``peak_mb`` is the process's largest resident set including mapped libraries, in 10^6 bytes."""

    seconds: float
    peak_mb: float
    runs: int


def measure_python(model: str, runs: int) -> ColdStart:
    """Measure processes that open model and runtime from Python and run one frame. Raises ``ToolError`` if a process
    fails."""
    with tempfile.TemporaryDirectory(prefix="arenite-bench-") as folder:
        frame = Path(folder) / "frame.yuyv"
        frame.write_bytes(pictures()[1].yuyv.tobytes())
        return _measure(["loop", model, str(frame)], runs)


def measure_command(model: str, runs: int) -> ColdStart:
    """Measure ``arenite camera`` for one frame. The command itself reports the time of its first answer. Raises
    ``ToolError`` if a process fails."""
    return _measure(
        ["cli", "camera", "--source", "synthetic", "--model", model, "--frames", "1", "--json"], runs
    )


def _measure(arguments: list[str], runs: int) -> ColdStart:
    with tempfile.TemporaryDirectory(prefix="arenite-bench-") as folder:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder  # the first process fills it
        measurements = [_measure_process(arguments, environment) for _ in range(runs + 1)][1:]
    return ColdStart(
        median(s for s, _ in measurements), median(kb for _, kb in measurements) * 1024 / 1e6, runs
    )


def _measure_process(arguments: list[str], environment: dict[str, str]) -> tuple[float, int]:
    """Return the seconds to the first answer, and the peak memory in KiB."""
    start = time.monotonic_ns()
    try:
        done = subprocess.run(
            [sys.executable, str(CHILD), *arguments],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            env=environment,
        )
        report = json.loads(done.stderr.strip().splitlines()[-1])
    except (subprocess.TimeoutExpired, IndexError, ValueError) as error:
        raise ToolError(f"A cold start of {' '.join(arguments)} printed no valid report: {error}.") from error
    if done.returncode != 0:
        raise ToolError(f"A cold start of {' '.join(arguments)} failed: {done.stderr.strip()[-300:]}")
    if report["first_ns"] is not None:
        return (report["first_ns"] - start) / 1e9, report["peak_kb"]
    return json.loads(done.stdout)["cold_start_ms"] / 1e3, report["peak_kb"]
