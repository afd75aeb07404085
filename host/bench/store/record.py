"""Add a result to the store. An error of the store is reported, but never ends the bench."""

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

#: Environment variables of a bench that is a cell of a matrix: the id of the matrix, and the key of the cell.
MATRIX, CELL = "ARENITE_MATRIX", "ARENITE_MATRIX_CELL"


def store_result(
    result: Mapping[str, Any],
    mode: BuildMode,
    data: str,
    model: Path,
    path: Path | None,
    report: Callable[[str], None],
) -> int | None:
    """Store a result and return the run's number. If that is not possible, call ``report`` with the reason and return
    None.

    ``data`` is the name of the samples, ``model`` the path of the model, and ``path`` the path of the store (None: the
    default store).
    """
    try:
        with Store(store_path(path)) as store:
            return store.add(
                result,
                mode,
                data,
                revision(model),
                matrix=os.environ.get(MATRIX),
                cell=os.environ.get(CELL),
            )
    except UsageError as error:
        report(f"The result was not stored: {error}")
        return None
