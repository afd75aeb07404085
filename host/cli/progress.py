"""Progress on standard error: a line for each step, a bar for what takes longer than two seconds."""

from __future__ import annotations

from types import TracebackType

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

from arenite.host.cli.output import stderr

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
            self._tasks[step] = self._progress.add_task(
                f"{title} {self._board}" if step == "run" else title, total=total
            )
        self._progress.update(self._tasks[step], completed=done)  # type: ignore[arg-type]
