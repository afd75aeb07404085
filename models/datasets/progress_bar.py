"""Show a progress bar on standard error while data are generated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from arenite.safe_console import SafeConsole


@contextmanager
def progress_bar(label: str, total: int, enabled: bool) -> Iterator[Callable[[], None]]:
    """Show a progress bar with the text ``label``, and yield a function to call after each of ``total`` steps.
    Nothing is shown if ``enabled`` is false or standard error is not a terminal."""
    console = SafeConsole(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    disable = not (enabled and console.is_terminal)
    with Progress(*columns, console=console, transient=True, disable=disable) as bar:
        task = bar.add_task(label, total=total)
        yield lambda: bar.advance(task)
