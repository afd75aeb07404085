"""One measurement of the table: a model, a board and a variant, by the command that users run."""

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

#: Variant to the options of ``arenite bench`` that make it.
VARIANTS: dict[str, tuple[str, ...]] = {
    "speed": ("--optimise", "speed"),
    "balanced": ("--optimise", "balanced"),
    "ram": ("--optimise", "ram"),
    "flash": ("--optimise", "flash"),
    "speed-no-passes": ("--optimise", "speed", "--no-passes"),
    "ram-stream-input": ("--optimise", "ram", "--stream-input"),
}
#: Seconds for one run, the build included.
_TIMEOUT = 900


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
    """``result`` is an ``arenite.bench/1`` object, or None with the reason in ``note``.

    ``failed``: it did not come to an answer, or an output differs. A model that does not fit is an answer.
    """

    job: Job
    result: dict[str, Any] | None
    note: str = ""
    failed: bool = False


def run_all(jobs: Sequence[Job], at_once: int, out: Path) -> Iterator[BenchmarkRun]:
    """Run the jobs, ``at_once`` at a time; each result is also left in ``out``. In the order in which they finish."""
    with ThreadPoolExecutor(at_once) as pool:
        for done in as_completed([pool.submit(_run, job, out) for job in jobs]):
            yield done.result()


def _run(job: Job, out: Path) -> BenchmarkRun:
    command = [sys.executable, "-m", "arenite.host.cli.main", "bench", str(job.model), "--json"]
    command += ["--board", job.board.name, "--samples", str(job.samples), *VARIANTS[job.variant]]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT)
    except subprocess.TimeoutExpired:
        return BenchmarkRun(job, None, f"not finished within {_TIMEOUT} s", failed=True)
    if not done.stdout:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["it said nothing"]
        said = next((line.removeprefix("Error: ") for line in lines if line.startswith("Error: ")), lines[-1])
        # 1: it does not fit. 2: refused; not every model can take its input in rows.
        refused = done.returncode == 2 and "--stream-input" in VARIANTS[job.variant]
        return BenchmarkRun(job, None, said, failed=done.returncode != 1 and not refused)
    result = json.loads(done.stdout)
    write_atomic(out / f"{job}.json", json.dumps(result, indent=1) + "\n")
    return BenchmarkRun(job, result, failed=done.returncode != 0)
