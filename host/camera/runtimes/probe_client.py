"""Measure a runtime on a model in a separate process, so that a crash or a hang does not affect this process."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arenite.host.camera.runtimes.runtime_choice import CandidateResult
from arenite.host.energy.base import MEASURED, PowerMeter
from arenite.processes import Child

#: The command that starts the separate process.
WORKER = (sys.executable, "-m", "arenite.host.camera.runtimes.probe_worker")

#: A function that returns the energy in joules that the device has used since some fixed time. Only differences between
#: two calls are used.
JoulesReader = Callable[[], float]


def joules_reader(power: PowerMeter, clock: Callable[[], float] = time.monotonic) -> JoulesReader | None:
    """Return a reader that integrates the readings of ``power``, or None if ``power`` only estimates. An estimate is
    computed from the load, so it would only show which runtime takes longer."""
    if power.read(0.0).kind != MEASURED:
        return None
    total, last = 0.0, clock()

    def read() -> float:
        nonlocal total, last
        watts, now = power.read(1.0).watts, clock()
        total, last = total + watts * (now - last), now
        return total

    return read


def probe_runtime(
    path: Path,
    name: str,
    threads: int,
    options: dict[str, str],
    outputs: Path,
    meter: JoulesReader | None,
    seconds: float,
    timeout_s: float,
) -> CandidateResult:
    """Measure the runtime ``name`` with ``threads`` threads on the model at ``path``.

    The model's outputs are stored in the file ``outputs``. If the runtime refuses the model, crashes or hangs, the
    result's ``problem`` says so.
    """
    request = {
        "path": str(path.resolve()), "name": name, "threads": threads, "options": options, "seconds": seconds,
        "outputs": str(outputs),
    }  # fmt: skip
    with tempfile.TemporaryFile() as log:
        child = Child(
            WORKER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        # A delegate that hangs must not block this process. The timer then kills the child, so that reading from it
        # ends.
        timer = _Timer(child, timeout_s)
        try:
            first = _exchange(child, json.dumps(request))
            before = meter() if meter is not None and "warm" in first else 0.0
            last = _exchange(child, "go") if "warm" in first else first
            used_j = meter() - before if meter is not None and "invocations" in last else None
            child.wait()
        finally:
            timer.stop()
        log.seek(0)
        log_lines = log.read().decode("utf-8", "replace").split("\n")
    if "problem" in last:
        return CandidateResult(name, threads, problem=last["problem"])
    if "invocations" not in last:
        return CandidateResult(
            name, threads, problem=_failure_text(child.returncode, timer.fired, timeout_s, log_lines)
        )
    energy = None if used_j is None else 1000 * used_j / last["invocations"]
    return CandidateResult(
        name, threads, last["median_ms"], last["p90_ms"], energy, last["resident_bytes"], None, "", tuple(last["notes"])
    )  # fmt: skip


class _Timer:
    """Kills ``child`` after ``timeout_s`` seconds. ``fired`` says whether that has happened."""

    def __init__(self, child: subprocess.Popen[str], timeout_s: float) -> None:
        self.fired = False
        self._child = child
        self._timer = threading.Timer(timeout_s, self._fire)
        self._timer.daemon = True
        self._timer.start()

    def _fire(self) -> None:
        self.fired = True
        self._child.kill()

    def stop(self) -> None:
        self._timer.cancel()
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def _exchange(child: subprocess.Popen[str], line: str) -> dict[str, Any]:
    """Send ``line`` to the child and return its answer; {} if the child has ended."""
    assert child.stdin is not None and child.stdout is not None
    try:
        child.stdin.write(line + "\n")
        child.stdin.flush()
        return dict(json.loads(child.stdout.readline() or "{}"))
    except (OSError, ValueError):
        return {}


def _failure_text(status: int, late: bool, timeout_s: float, log: list[str]) -> str:
    last = next((line.strip() for line in reversed(log) if line.strip()), "")
    if late:
        return f"hung: no answer within {timeout_s:g} s."
    if status < 0:
        return f"crashed ({signal.Signals(-status).name})." + (f" Its last line was: {last}" if last else "")
    return f"ended with status {status}." + (f" Its last line was: {last}" if last else "")
