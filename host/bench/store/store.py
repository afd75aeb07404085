"""Stores every bench result in one SQLite file: its figures in columns, its layers as rows, and the complete
``arenite.bench/1`` object as text.

Several programs may write at the same time. The file has a write-ahead log, and transactions wait for each other.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from arenite.errors import UsageError
from arenite.host.bench.store.origin import Revision
from arenite.host.bench.store.run_rows import (
    FIGURE_PATHS,
    LAYER_COLUMNS,
    BuildMode,
    StoredRun,
    layer_rows,
    run_row,
)
from arenite.host.bench.store.schema import NewerStoreError, NotAStoreError, migrate

#: Seconds to wait for the transaction of another program.
WAIT_S = 30.0
_FIGURES = (*FIGURE_PATHS, "version", "repository", "revision", "dirty", "host", "matrix", "cell")


class Store:
    """An open store. Every method may raise ``UsageError`` with the file's name and the message of SQLite."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        """Open ``path``. ``create`` creates the file if it does not exist.

        Raises ``UsageError`` when the file cannot be opened, is damaged, is not a store, or was written by a
        later version. In these cases, the file is not changed.
        """
        self.path = path
        if not create and not path.is_file():
            raise UsageError(
                f"The store {path} does not exist yet.",
                "Run `arenite bench` to create it, or name another store with --store.",
            )
        with self._readable_errors():
            if create:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)
        try:
            with self._readable_errors():
                self._connection.execute("PRAGMA foreign_keys = ON")
                migrate(self._connection)
                self._enable_write_ahead_log()
        except BaseException:
            self._connection.close()
            raise

    def _enable_write_ahead_log(self) -> None:
        """Switch to a write-ahead log. Try again if another program does the same at this time. If the file system does
        not support a write-ahead log, change nothing."""
        for _ in range(20):
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    return
                time.sleep(0.05)

    @contextmanager
    def _readable_errors(self) -> Iterator[None]:
        """Convert the errors of SQLite to ``UsageError``."""
        hint = "Name another store with --store, or move the file away. It was not changed."
        try:
            yield
        except NotAStoreError:
            raise UsageError(f"{self.path} is a database, but not a store of bench results.", hint) from None
        except NewerStoreError:
            raise UsageError(
                f"{self.path} was written by a later version of Arenite.",
                "Update Arenite, or name another store with --store.",
            ) from None
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise UsageError(
                    f"{self.path} has been locked by another program for {WAIT_S:g} s.", "Try again later."
                ) from error
            raise UsageError(
                f"Cannot use the store {self.path}: {error}.",
                "Check its permissions and the disk, or name another with --store.",
            ) from error
        except sqlite3.DatabaseError as error:
            raise UsageError(f"{self.path} is damaged, or is not a store: {error}.", hint) from error
        except OSError as error:
            raise UsageError(
                f"Cannot create the store {self.path}: {error.strerror or error}.",
                "Name another with --store.",
            ) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._readable_errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def add(
        self,
        result: Mapping[str, Any],
        mode: BuildMode,
        data: str,
        origin: Revision | None,
        *,
        matrix: str | None = None,
        cell: str | None = None,
    ) -> int:
        """Store a bench result with its layers, and return the run's number.

        ``data`` is the name of the samples, ``origin`` the git revision of the model. ``matrix`` and ``cell`` identify
        the cell of a matrix that ran the bench.
        """
        row = run_row(result, mode, data, origin, matrix, cell)
        names = ", ".join(row)
        placeholders = ", ".join("?" * len(row))
        with self._writing() as connection:
            cursor = connection.execute(
                f"INSERT INTO runs ({names}) VALUES ({placeholders})", tuple(row.values())
            )
            number = cursor.lastrowid
            assert number is not None
            layer_placeholders = ", ".join("?" * (2 + len(LAYER_COLUMNS)))
            connection.executemany(
                f"INSERT INTO layers (run, layer, {', '.join(LAYER_COLUMNS)}) VALUES ({layer_placeholders})",
                layer_rows(number, result),
            )
        return number

    def runs(
        self,
        *,
        board: str | None = None,
        model: str | None = None,
        matrix: str | None = None,
        results: bool = True,
    ) -> list[StoredRun]:
        """Return the runs of a board, model or matrix (None: of all) in the order in which they were stored. ``model``
        is a file name without its suffix.

        If ``results`` is false, the complete results are not read, which is fast even for thousands of runs.
        """
        filters = {"board": board, "model": model, "matrix": matrix}
        conditions = {name: value for name, value in filters.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in conditions)
        return self._select(f"WHERE {where}" if where else "", tuple(conditions.values()), results=results)

    def run(self, number: int) -> StoredRun:
        """Return a run. Raises ``UsageError`` if no run has this number."""
        rows = self._select("WHERE id = ?", (number,))
        if not rows:
            raise UsageError(
                f"{self.path} has no run {number}.", "`arenite bench history` shows the numbers."
            )
        return rows[0]

    def _select(self, where: str, values: tuple[Any, ...], *, results: bool = True) -> list[StoredRun]:
        columns = ", ".join(("result" if results else "'{}'", *_FIGURES))
        with self._readable_errors():
            rows = self._connection.execute(
                f"SELECT id, time, model, mode, data, {columns} FROM runs {where} ORDER BY id", values
            ).fetchall()
        return [_run(row) for row in rows]

    def open_matrix(self, key: str) -> str | None:
        """Return the id of the latest matrix with this key if it is not finished, else None."""
        with self._readable_errors():
            row = self._connection.execute(
                "SELECT id, finished FROM matrices WHERE key = ? ORDER BY started DESC, id DESC LIMIT 1",
                (key,),
            ).fetchone()
        return row[0] if row is not None and row[1] is None else None

    def begin_matrix(self, identity: str, key: str) -> None:
        """Record that a matrix is running."""
        with self._writing() as connection:
            connection.execute("INSERT INTO matrices VALUES (?, ?, ?, NULL)", (identity, key, _now()))

    def end_matrix(self, identity: str) -> None:
        """Record that every cell of a matrix has its result."""
        with self._writing() as connection:
            connection.execute("UPDATE matrices SET finished = ? WHERE id = ?", (_now(), identity))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _run(row: tuple[Any, ...]) -> StoredRun:
    number, time_text, model, mode, data, result, *figures = row
    values = dict(zip(_FIGURES, figures, strict=True))
    return StoredRun(number, time_text, model, values["board"], mode, data, values, json.loads(result))
