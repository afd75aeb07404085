"""The registry in an SQLite file, for one computer."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.host.fleet.database import Database, DatabaseError, Row, Transaction

#: The time that a transaction waits for another process to end its own, in seconds.
_LOCK_TIMEOUT_S = 30.0


class _SqliteTransaction(Transaction):
    # BEGIN IMMEDIATE keeps all other writers out, so rows need no locks.
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        return self._connection.execute(sql, tuple(parameters)).fetchall()

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        return self._connection.execute(sql, tuple(parameters)).rowcount

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)


class SqliteDatabase(Database):
    """With ``is_durable``, what was committed survives a power cut; otherwise only a crash of the process."""

    identity_type = "INTEGER PRIMARY KEY AUTOINCREMENT"

    def __init__(self, path: Path, *, is_durable: bool = True) -> None:
        self.name = str(path)
        self._is_durable = is_durable
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def errors(self) -> tuple[type[Exception], ...]:
        return (sqlite3.Error,)

    def translate(self, error: Exception) -> Exception:
        if isinstance(error, sqlite3.OperationalError):
            return DatabaseError(
                f"{self.name}: {error}.", "Check the folder, its permissions, the disk, and other programs."
            )
        if isinstance(error, sqlite3.DatabaseError) and "not a database" in str(error):
            return UsageError(f"{self.name} is not an SQLite database.", "Give another path.")
        return error

    def lock_schema(self, transaction: Transaction) -> None:
        """The transaction holds the lock already."""

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _begin(self, *, is_reading: bool) -> Transaction:
        if self._connection is None:
            # The program begins and ends transactions itself (isolation_level None).
            self._connection = sqlite3.connect(self._path, _LOCK_TIMEOUT_S, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode=WAL")
            # An acknowledged event must survive a power cut, so each commit waits for the disk.
            self._connection.execute(f"PRAGMA synchronous={'FULL' if self._is_durable else 'OFF'}")
        self._connection.execute("BEGIN" if is_reading else "BEGIN IMMEDIATE")
        return _SqliteTransaction(self._connection)

    def _end(self, sql: str) -> None:
        assert self._connection is not None
        self._connection.execute(sql)
