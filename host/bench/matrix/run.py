"""Run the cells of a matrix, several at once, each in a process of its own.

A cell runs the command ``arenite bench``, so that its result is the same as that of the bench alone, and its
failure does not affect other cells. Emulated boards run in parallel; a real board's port serves one cell at a
time.
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

#: Seconds that an interrupted cell has to store its answers.
STOP_S = 10.0


@dataclass
class CellState:
    """The state of a cell: waiting, building, ..., done, failed; ``error`` and ``hint`` are those of the
    bench."""

    cell: Cell
    step: str = "waiting"
    done: int = 0
    total: int = 0
    exit_code: int | None = None
    result: Mapping[str, Any] | None = None
    error: str | None = None
    hint: str | None = None
    seconds: float = 0.0
    earlier: bool = False  # from an interrupted run of the matrix
    port: str | None = None
    messages: list[str] = field(default_factory=list)

    @property
    def finished(self) -> bool:
        return self.exit_code is not None

    def to_json(self) -> dict[str, Any]:
        """One entry of ``cells``."""
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
    """Chooses the next cell: the first that waits and whose board has a free port."""

    def __init__(self, states: Sequence[CellState]) -> None:
        self._waiting = [s for s in states if not s.finished]
        self._busy: set[str] = set()
        self._changed = threading.Condition()
        self.stopped = False

    def take(self) -> tuple[CellState, str | None] | None:
        """A cell and its port; None: no cell is left."""
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
    """Run every cell that has no exit code yet; ``changed`` is called after each step, by several threads.

    On ``KeyboardInterrupt`` the running cells are stopped, and they store their answers first.
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
                os.killpg(process.pid, signal.SIGKILL)  # the emulator of the cell too
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
    # A session of its own, so that a signal from the terminal reaches only the matrix, which passes it on.
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    running.add(process)
    listener = threading.Thread(target=_listen, args=(process, state, changed), daemon=True)
    listener.start()
    assert process.stdout is not None
    out = process.stdout.read()
    code = process.wait()
    listener.join()
    running.discard(process)
    state.seconds = time.monotonic() - began
    if queue.stopped:
        return  # interrupted: no outcome
    _conclude(state, code, out)
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


def _conclude(state: CellState, code: int, out: str) -> None:
    """The cell's outcome from exit code, standard output and standard error."""
    try:
        output = json.loads(out) if out.strip() else None
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
    """The exit code of a matrix: that of the cell with the worst outcome."""
    return max((s.exit_code for s in states if s.exit_code is not None), default=0)
