"""Run images in stock TensorFlow Lite Micro, from the PyPI package ``tflite-micro``."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arenite.errors import ToolError, UsageError
from arenite.processes import run, temporary_folder

_HEAD = re.compile(r"Arena allocation head (\d+) bytes")
_TAIL = re.compile(r"Arena allocation tail (\d+) bytes")

#: The time limit of one model in seconds, including the start of the process. TFLM's portable kernels need less than
#: 1 s.
_TIMEOUT_S = 120


@dataclass(frozen=True)
class TflmJob:
    """A .tflite model and its runs. A run has one array per input. Each run starts with the initial values of the
    model's variables."""

    model: bytes
    runs: Sequence[Sequence[np.ndarray]]
    outputs: int  # number of outputs of the model


@dataclass(frozen=True)
class TflmResult:
    """The outputs of each run, or None with the reason in ``error`` if TFLM rejects the model or aborts."""

    runs: list[list[np.ndarray]] | None
    error: str = ""
    head_bytes: int = 0  # arena bytes for tensors and scratch, whose offsets the plan decides
    tail_bytes: int = 0  # arena bytes for TFLM's own structures


def available() -> bool:
    """Return whether the package tflite-micro is installed. It exists only for Linux on x86_64."""
    return importlib.util.find_spec("tflite_micro") is not None


def run_tflm(jobs: Sequence[TflmJob]) -> list[TflmResult]:
    """Run the jobs in a separate process, and start a new process after each abort. Return one result per job.

    Raises ``UsageError`` when the package is missing and ``ToolError`` when a model hangs.
    """
    if not available():
        raise UsageError(
            "The package tflite-micro is not installed.",
            "Run `pip install --pre tflite-micro` (x86_64 Linux).",
        )
    with temporary_folder("arenite-tflm-") as folder:
        for number, job in enumerate(jobs):
            _store(folder, number, job)
        first = 0
        while first < len(jobs):
            first = _start(folder, first, len(jobs))
        return [_result(folder, number, job) for number, job in enumerate(jobs)]


def _store(folder: Path, number: int, job: TflmJob) -> None:
    (folder / f"{number}.tflite").write_bytes(job.model)
    arrays = {
        f"r{run}_i{position}": np.asarray(value, order="C")
        for run, values in enumerate(job.runs)
        for position, value in enumerate(values)
    }
    counts = np.array([len(job.runs), len(job.runs[0]) if job.runs else 0, job.outputs])
    np.savez(folder / f"{number}.npz", counts=counts, **arrays)  # type: ignore[arg-type]


def _start(folder: Path, first: int, count: int) -> int:
    """Run the jobs from number ``first`` on in one process. If a job aborts the process, return the number of the job
    after it; else return ``count``."""
    command = [sys.executable, "-m", "arenite.host.bench.tflm.child", str(folder), str(first)]
    try:
        process = run(command, capture_output=True, text=True, timeout=_TIMEOUT_S + count, check=False)
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            f"TensorFlow Lite Micro did not finish within {_TIMEOUT_S + count} s.",
            "Run fewer models at once.",
        ) from error
    for number in range(first, count):
        if not (folder / f"{number}.out.npz").exists() and not (folder / f"{number}.error").exists():
            (folder / f"{number}.error").write_text(f"the process ended with exit code {process.returncode}")
            return number + 1
    return count


def _result(folder: Path, number: int, job: TflmJob) -> TflmResult:
    log = folder / f"{number}.log"
    printed = log.read_text(errors="replace") if log.exists() else ""
    error = folder / f"{number}.error"
    if error.exists():
        last = " ".join(printed.strip().splitlines()[-3:])
        return TflmResult(None, f"{error.read_text()} {last}".strip())
    with np.load(folder / f"{number}.out.npz") as stored:
        runs = [[stored[f"r{r}_o{o}"] for o in range(job.outputs)] for r in range(len(job.runs))]
    head, tail = _HEAD.search(printed), _TAIL.search(printed)
    return TflmResult(runs, "", int(head[1]) if head else 0, int(tail[1]) if tail else 0)
