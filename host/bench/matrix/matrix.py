"""Run a matrix: keep the cells that an interrupted run completed, run the remaining cells, and return the
``arenite.matrix/1`` object."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from arenite.host.bench.matrix.plan import MatrixPlan
from arenite.host.bench.matrix.run import CellState, run_cells, worst_exit_code
from arenite.host.bench.store.run_rows import StoredRun
from arenite.host.bench.store.store import Store


def begin(plan: MatrixPlan, store: Path, *, resume: bool = True) -> tuple[str, list[CellState]]:
    """Return the matrix's id in the store, and its cells. Cells that an interrupted run completed are marked as
    finished.

    Raises ``UsageError`` when the store cannot be used.
    """
    key = str(plan.path)
    with Store(store) as database:
        identity = database.open_matrix(key) if resume else None
        finished_runs = (
            {} if identity is None else {run.figures["cell"]: run for run in database.runs(matrix=identity)}
        )
        if identity is None:
            identity = uuid.uuid4().hex[:12]
            database.begin_matrix(identity, key)
    states = [CellState(cell) for cell in plan.cells]
    for state in states:
        run = finished_runs.get(state.cell.key)
        if run is not None and not run.figures["missing"]:
            _restore(state, run)
    return identity, states


def _restore(state: CellState, run: StoredRun) -> None:
    state.result = {**run.result, "run": run.id}
    state.exit_code = 0 if run.figures["bit_exact"] == run.figures["samples"] else 1
    state.step, state.earlier = "done", True


def finish(plan: MatrixPlan, identity: str, states: Sequence[CellState], store: Path) -> dict[str, Any]:
    """Return the ``arenite.matrix/1`` object. If no cell failed and no sample is missing, the next run starts again
    with all cells."""
    complete = worst_exit_code(states) < 2 and not any(
        s.result and s.result["samples"]["missing"] for s in states
    )
    if complete:
        with Store(store) as database:
            database.end_matrix(identity)
    return {
        "schema": "arenite.matrix/1",
        "file": str(plan.path),
        "matrix": identity,
        "store": str(store),
        "exit_code": worst_exit_code(states),
        "complete": complete,
        "cells": [s.to_json() for s in states],
        "notes": list(plan.skipped),
    }


def run_matrix(
    plan: MatrixPlan,
    states: Sequence[CellState],
    identity: str,
    *,
    jobs: int,
    store: Path,
    resume: bool = True,
    changed: Callable[[CellState], None] = lambda _: None,
) -> dict[str, Any]:
    """Run the cells that are not finished, and return the ``arenite.matrix/1`` object. ``changed`` is called after each
    step of a cell. The message of a ``KeyboardInterrupt`` says how many cells are stored."""
    try:
        run_cells(states, jobs=jobs, store=store, matrix=identity, resume=resume, changed=changed)
    except KeyboardInterrupt:
        done = sum(s.finished for s in states)
        raise KeyboardInterrupt(
            f"{done} of {len(states)} cells are stored. Run the same command again to continue."
        ) from None
    return finish(plan, identity, states, store)
