"""``arenite bench matrix``: run ``arenite bench`` for every combination of boards, models and build options that a file
lists, several combinations in parallel."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.live import Live
from rich.table import Table

from arenite.files import write_atomic
from arenite.host.bench.matrix.matrix import begin, run_matrix
from arenite.host.bench.matrix.plan import read_plan
from arenite.host.bench.matrix.run import CellState
from arenite.host.bench.store.location import store_path
from arenite.host.cli.bench.subcommands import store_option
from arenite.host.report.boards_page import matrix_page
from arenite.host.report.console import note, print_json, show, stderr, table

#: The largest number of cells (combinations) that the live table shows. If there are more cells, it shows only the
#: cells that are running.
_MAX_ROWS = 24


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Number of combinations to run in parallel. Default: one for each processor core of this computer.",
)
@click.option(
    "--resume/--no-resume",
    default=True,
    show_default=True,
    help="Continue an earlier run of FILE and run its failed combinations again, or run all combinations.",
)
@store_option
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write an HTML page that compares the boards to this file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def matrix(
    file: Path, jobs: int | None, resume: bool, store: Path | None, html: Path | None, as_json: bool
) -> int:
    """Run `arenite bench` for every combination of the models, boards and modes (build options) that FILE lists.

    FILE is a TOML file, such as bench.toml (docs/bench-matrix.md). If a combination fails, the other combinations still
    run. The exit code is the highest exit code of all combinations.
    """
    plan = read_plan(file)
    store_file = store_path(store)
    identity, states = begin(plan, store_file, resume=resume)
    finished_before = sum(s.finished for s in states)
    if finished_before:
        note(
            f"An earlier run finished {finished_before} of {len(states)} cells. --no-resume runs all of them again."
        )
    for text in plan.skipped:
        note(f"Skipped: {text}")
    with _ProgressView(states) as view:
        result = run_matrix(
            plan,
            states,
            identity,
            jobs=jobs or os.cpu_count() or 1,
            store=store_file,
            resume=resume,
            changed=view.changed,
        )
    if as_json:
        print_json(result)
    else:
        show(table(f"{file.name}: {len(states)} cells", *_result_rows(states)))
        for state in states:
            if state.error is not None:
                note(f"{state.cell.name}: {state.error} {state.hint or ''}".rstrip())
    if html is not None:
        write_atomic(html, matrix_page(result))
        note(f"Report: {html}")
    return int(result["exit_code"])


class _ProgressView:
    """Shows the progress of all cells as a live table on a terminal. If standard error is no terminal, it prints one
    line for each finished cell."""

    def __init__(self, states: Sequence[CellState]) -> None:
        self._states = states
        self._reported = {id(s) for s in states if s.finished}
        self._lock = threading.Lock()
        self._live = Live(get_renderable=self._table, console=stderr, transient=True, refresh_per_second=4)

    def __enter__(self) -> _ProgressView:
        if stderr.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def changed(self, state: CellState) -> None:
        """Report the progress of a cell. Several threads call this method."""
        with self._lock:
            if not state.finished or id(state) in self._reported:
                return
            self._reported.add(id(state))
            if not stderr.is_terminal:
                note(f"[{len(self._reported)}/{len(self._states)}] {state.cell.name}: {_outcome(state)}")

    def _table(self) -> Table:
        running = [s for s in self._states if not s.finished and s.step != "waiting"]
        rows_to_show = self._states if len(self._states) <= _MAX_ROWS else running
        done = sum(s.finished for s in self._states)
        title = f"{done} of {len(self._states)} cells done"
        return table(
            title, ("cell", "", "outcome"), [(s.cell.name, _progress(s), _outcome(s)) for s in rows_to_show]
        )


def _progress(state: CellState) -> str:
    if state.step in ("run", "check") and state.total:
        return f"{state.step} {state.done} of {state.total}"
    return state.step


def _outcome(state: CellState) -> str:
    if not state.finished:
        return ""
    if state.result is None:
        return f"exit code {state.exit_code}: {state.error}"
    samples, (figure, unit) = state.result["samples"], _speed(state.result)
    return f"{samples['bit_exact']} of {samples['count']} bit-exact, {figure} {unit}"


def _speed(result: Any) -> tuple[str, str]:
    for name, unit in (("instructions", "instructions"), ("latency_us", "µs")):
        if result["inference"][name] is not None:
            return f"{result['inference'][name]['p50']:,}", unit
    return "-", ""


def _result_rows(states: Sequence[CellState]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    head = ("cell", "bit-exact", "one inference", "RAM B", "flash B", "exit")
    rows: list[tuple[object, ...]] = []
    for state in states:
        result, name = state.result, state.cell.name
        if result is None:
            rows.append((name, "-", "-", "-", "-", state.exit_code))
            continue
        if state.cell.mode.optimise is None:
            name += f": {result['optimise']}"
        figure, unit = _speed(result)
        rows.append(
            (
                name,
                f"{result['samples']['bit_exact']} of {result['samples']['count']}",
                figure if unit == "instructions" else f"{figure} {unit}",
                f"{result['memory']['ram_total']:,}",
                f"{result['flash']['total']:,}",
                state.exit_code,
            )
        )
    return head, rows
