"""Run the cells of a matrix in parallel, each in its own process.

A cell runs the command ``arenite bench``. So its result is the same as without a matrix, and its failure does not
affect other cells. Emulated boards run in parallel. A port of a real board serves one cell at a time.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arenite.host.bench.matrix.cell import Cell
from arenite.host.bench.progress_lines import LINES_MODE, PROGRESS_PREFIX
from arenite.host.bench.store.record import CELL, MATRIX
from arenite.processes import Child

#: Seconds that an interrupted cell has to store its answers.
STOP_S = 10.0


@dataclass
class CellState:
    """The state of a cell. ``step`` is "waiting", "starting", then the step that the bench reports, and finally "done"
    or "failed". ``done`` and ``total`` count the items of this step. ``error`` and ``hint`` come from the bench."""

    cell: Cell
    step: str = "waiting"
    done: int = 0
    total: int = 0
    exit_code: int | None = None
    result: Mapping[str, Any] | None = None
    error: str | None = None
    hint: str | None = None
    seconds: float = 0.0
    earlier: bool = False  # whether the result comes from an earlier, interrupted run of the matrix
    port: str | None = None
    messages: list[str] = field(default_factory=list)

    @property
    def finished(self) -> bool:
        return self.exit_code is not None

    def to_json(self) -> dict[str, Any]:
        """Return the cell's entry in ``cells``."""
        error = None if self.error is None else {"problem": self.error, "hint": self.hint}
        return {
            **self.cell.to_json(),
            "port": self.port,
            "exit_code": self.exit_code,
            "error": error,
            "earlier": self.earlier,
            "seconds": round(self.seconds, 1),
            "run": None if self.result is None else self.result.get("run"),
            "result": self.result,
        }


class _Queue:
    """Chooses the next cell: the first one that waits for a board with a free port, or for an emulated board."""

    def __init__(self, states: Sequence[CellState]) -> None:
        self._waiting = [s for s in states if not s.finished]
        self._busy: set[str] = set()
        self._changed = threading.Condition()
        self.stopped = False

    def take(self) -> tuple[CellState, str | None] | None:
        """Return a cell and its port, or None if no cell is left."""
        with self._changed:
            while self._waiting and not self.stopped:
                for state in self._waiting:
                    free = [p for p in state.cell.ports if p not in self._busy]
                    if free or not state.cell.ports:
                        self._waiting.remove(state)
                        port = free[0] if free else None
                        self._busy |= {port} if port is not None else set()
                        return state, port
                self._changed.wait()
            return None

    def give_back(self, port: str | None) -> None:
        with self._changed:
            self._busy.discard(port or "")
            self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self.stopped = True
            self._changed.notify_all()


def run_cells(
    states: Sequence[CellState],
    *,
    jobs: int,
    store: Path,
    matrix: str,
    resume: bool = True,
    changed: Callable[[CellState], None] = lambda _: None,
) -> None:
    """Run every cell that has no exit code yet, at most ``jobs`` cells at once. Several threads call ``changed``, after
    each step of a cell.

    On ``KeyboardInterrupt`` the running cells store their answers and stop.
    """
    queue = _Queue(states)
    running: set[subprocess.Popen[str]] = set()

    def work() -> None:
        while (assignment := queue.take()) is not None:
            state, port = assignment
            state.port = port
            try:
                _run_cell(state, state.cell.command(store, port, resume), matrix, running, queue, changed)
            finally:
                queue.give_back(port)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(jobs, len(states)))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)
    except KeyboardInterrupt:
        queue.stop()
        for process in list(running):
            process.send_signal(signal.SIGINT)
        end = time.monotonic() + STOP_S
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        for process in list(running):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # also stops the emulator of the cell
        raise


def _run_cell(
    state: CellState,
    command: Sequence[str],
    matrix: str,
    running: set[subprocess.Popen[str]],
    queue: _Queue,
    changed: Callable[[CellState], None],
) -> None:
    began = time.monotonic()
    state.step = "starting"
    changed(state)
    environment = os.environ | {LINES_MODE: "lines", MATRIX: matrix, CELL: state.cell.key}
    # The process has its own session, so a signal from the terminal reaches only the matrix, which forwards it.
    process = Child(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    running.add(process)
    listener = threading.Thread(target=_listen, args=(process, state, changed), daemon=True)
    listener.start()
    assert process.stdout is not None
    stdout = process.stdout.read()
    code = process.wait()
    listener.join()
    running.discard(process)
    state.seconds = time.monotonic() - began
    if queue.stopped:
        return  # the cell was interrupted, so it has no result
    _conclude(state, code, stdout)
    changed(state)


def _listen(process: subprocess.Popen[str], state: CellState, changed: Callable[[CellState], None]) -> None:
    """Read the progress that the bench reports while it runs."""
    assert process.stderr is not None
    for line in process.stderr:
        words = line.split()
        if len(words) == 4 and words[0] == PROGRESS_PREFIX:
            state.step, state.done, state.total = words[1], int(words[2]), int(words[3])
            changed(state)
        elif line.strip():
            state.messages.append(line.rstrip())


def _conclude(state: CellState, code: int, stdout: str) -> None:
    """Set the cell's result, error and exit code from the exit code, standard output and standard error of the
    bench."""
    try:
        output = json.loads(stdout) if stdout.strip() else None
    except ValueError:
        output, code = None, 4
    state.result = output if isinstance(output, dict) else None
    if state.result is None:
        messages = {k: v for k, _, v in (line.partition(": ") for line in state.messages)}
        state.error = messages.get("Error") or (
            state.messages[-1] if state.messages else "The bench printed no message."
        )
        state.hint = messages.get("Try")
        if code < 0:
            state.error, code = f"Signal {-code} ended the bench.", 3
        elif code == 0:
            code = 4
    state.exit_code = code
    state.step = "done" if state.result is not None else "failed"


def worst_exit_code(states: Sequence[CellState]) -> int:
    """Return the exit code of a matrix, which is the highest exit code of its cells."""
    return max((s.exit_code for s in states if s.exit_code is not None), default=0)
