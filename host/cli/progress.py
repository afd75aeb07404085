"""Show progress on standard error, as bars or as lines for another program."""

from __future__ import annotations

import os
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from arenite.host.bench.progress_lines import LINES_MODE, PROGRESS_PREFIX
from arenite.host.report.console import stderr

_TITLES = {
    "build": "building",
    "run": "running on",
    "simulator": "building the simulator",
    "simulate": "simulating",
    "check": "checking against LiteRT",
    "time": "measuring times",
}


class Stages:
    """A progress callback ``stages(name, done, total)`` that shows one bar for the current stage. A total of 0 means
    that the total is unknown.

    The stage "import" has no bar, because frameworks and downloads show their own progress on the same terminal.
    """

    def __init__(self) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal)
        self._name = ""
        self._task: TaskID | None = None

    def __enter__(self) -> Stages:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, name: str, done: int, total: int) -> None:
        if name == "import":
            return
        self._progress.start()
        if name != self._name or self._task is None:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._name, self._task = name, self._progress.add_task(name, total=total or None)
        self._progress.update(self._task, completed=done, total=total or None)


class Steps:
    """A progress callback ``steps(name, done, total)`` that shows one bar per name.

    It shows nothing if standard error is not a terminal.
    """

    def __init__(self, board: str) -> None:
        self._board = board
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal)
        self._tasks: dict[str, int] = {}

    def __enter__(self) -> Steps:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, step: str, done: int, total: int) -> None:
        if step not in self._tasks:
            title = _TITLES.get(step, step)
            # The bar starts at ``done``, so that work of an earlier run does not change the estimate of the remaining
            # time.
            self._tasks[step] = self._progress.add_task(
                f"{title} {self._board}" if step == "run" else title, total=total, completed=done
            )
        self._progress.update(self._tasks[step], completed=done)  # type: ignore[arg-type]


class ProgressCallback(Protocol):
    """A function that is called with the progress of ``arenite bench``."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` units of this step are finished."""


class _ProgressLines:
    """A progress callback that writes lines ``@progress STEP DONE TOTAL`` to standard error, at most ten per second."""

    def __init__(self) -> None:
        self._reported_at: dict[str, float] = {}

    def __enter__(self) -> _ProgressLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def __call__(self, step: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done == total or now - self._reported_at.get(step, 0.0) >= 0.1:
            self._reported_at[step] = now
            stderr.file.write(f"{PROGRESS_PREFIX} {step} {done} {total}\n")
            stderr.file.flush()


def steps_of(board: str) -> AbstractContextManager[ProgressCallback]:
    """Return a progress callback. It writes lines if the environment has ``ARENITE_PROGRESS=lines``, else it draws
    bars. ``board`` is the board's name in the title of the bar."""
    return _ProgressLines() if os.environ.get(LINES_MODE) == "lines" else Steps(board)
