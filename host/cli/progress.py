"""Progress on standard error: a line for each step, a bar for what takes longer than two seconds."""

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

_TITLES = {"build": "building", "run": "running on", "check": "checking against LiteRT"}


class Stages:
    """Called as ``stages(name, done, total)`` (total 0: not known); one bar, for the stage that runs now.

    The import has none: frameworks and downloads show their own progress on the same terminal.
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
    """Called as ``steps(name, done, total)``; shows one bar per name. Silent when standard error is no terminal."""

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
            # What is done already at the start counts for no speed.
            self._tasks[step] = self._progress.add_task(
                f"{title} {self._board}" if step == "run" else title, total=total, completed=done
            )
        self._progress.update(self._tasks[step], completed=done)  # type: ignore[arg-type]


class ProgressCallback(Protocol):
    """What a bench tells its progress to."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """``done`` of ``total`` of this step."""


class _Lines:
    """``@progress STEP DONE TOTAL`` on standard error, ten times a second at most."""

    def __init__(self) -> None:
        self._told: dict[str, float] = {}

    def __enter__(self) -> _Lines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def __call__(self, step: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done == total or now - self._told.get(step, 0.0) >= 0.1:
            self._told[step] = now
            stderr.file.write(f"{PROGRESS_PREFIX} {step} {done} {total}\n")
            stderr.file.flush()


def steps_of(board: str) -> AbstractContextManager[ProgressCallback]:
    """Bars on a terminal; lines where ``ARENITE_PROGRESS=lines`` asks for them."""
    return _Lines() if os.environ.get(LINES_MODE) == "lines" else Steps(board)
