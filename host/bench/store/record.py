"""Adds a result to the store; an error of the store is reported, but never ends the bench."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.host.bench.store.location import store_path
from arenite.host.bench.store.origin import revision
from arenite.host.bench.store.run_rows import BuildMode
from arenite.host.bench.store.store import Store

#: In the environment of a bench that is a cell of a matrix: the matrix, and the cell.
MATRIX, CELL = "ARENITE_MATRIX", "ARENITE_MATRIX_CELL"


def store_result(
    result: Mapping[str, Any],
    mode: BuildMode,
    data: str,
    model: Path,
    named: Path | None,
    report: Callable[[str], None],
) -> int | None:
    """The run's number in the store; None when it could not be stored, and ``report`` was called with the
    reason."""
    try:
        with Store(store_path(named)) as store:
            return store.add(
                result,
                mode,
                data,
                revision(model),
                matrix=os.environ.get(MATRIX),
                cell=os.environ.get(CELL),
            )
    except UsageError as error:
        report(f"The result is not in the store: {error}")
        return None
