"""Run the measurements of the table. Each measurement (job) is a run of ``arenite bench`` with a model, a board and a
variant of the options."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.files import write_atomic
from arenite.profiles.boards import Board

#: The options of ``arenite bench`` for each variant.
VARIANTS: dict[str, tuple[str, ...]] = {
    "speed": ("--optimise", "speed"),
    "balanced": ("--optimise", "balanced"),
    "ram": ("--optimise", "ram"),
    "flash": ("--optimise", "flash"),
    "speed-no-passes": ("--optimise", "speed", "--no-passes"),
    "ram-stream-input": ("--optimise", "ram", "--stream-input"),
}
#: The time limit of one run in seconds, including the build.
_TIMEOUT_S = 900


@dataclass(frozen=True)
class Job:
    model: Path
    board: Board
    variant: str
    samples: int

    def __str__(self) -> str:
        return f"{self.model.stem}-{self.board.name}-{self.variant}"


@dataclass(frozen=True)
class BenchmarkRun:
    """The result of a job: an ``arenite.bench/1`` object, or None with the reason in ``note``.

    ``failed`` is True if the run gave no result or an output is not bit-exact. It is False if the model does not fit
    the board, or if it does not support row-by-row input.
    """

    job: Job
    result: dict[str, Any] | None
    note: str = ""
    failed: bool = False


def run_all(jobs: Sequence[Job], at_once: int, out: Path) -> Iterator[BenchmarkRun]:
    """Run the jobs, ``at_once`` jobs at the same time, and yield each run when it finishes. The results are also
    written to the folder ``out``."""
    with ThreadPoolExecutor(at_once) as pool:
        for done in as_completed([pool.submit(_run, job, out) for job in jobs]):
            yield done.result()


def _run(job: Job, out: Path) -> BenchmarkRun:
    command = [sys.executable, "-m", "arenite.host.cli.main", "bench", str(job.model), "--json"]
    command += ["--board", job.board.name, "--samples", str(job.samples), *VARIANTS[job.variant]]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return BenchmarkRun(job, None, f"not finished within {_TIMEOUT_S} s", failed=True)
    if not done.stdout:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no output"]
        message = next(
            (line.removeprefix("Error: ") for line in lines if line.startswith("Error: ")), lines[-1]
        )
        # Exit code 1 means that the model does not fit. Exit code 2 means that the options were rejected, for example
        # because the model does not support row-by-row input.
        rejected = done.returncode == 2 and "--stream-input" in VARIANTS[job.variant]
        return BenchmarkRun(job, None, message, failed=done.returncode != 1 and not rejected)
    result = json.loads(done.stdout)
    write_atomic(out / f"{job}.json", json.dumps(result, indent=1) + "\n")
    return BenchmarkRun(job, result, failed=done.returncode != 0)
