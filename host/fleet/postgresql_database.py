"""The registry in PostgreSQL, for several servers. It needs psycopg."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from arenite.errors import UsageError
from arenite.host.fleet.database import Database, DatabaseError, Row, Transaction

#: An arbitrary number: the lock that programs hold while they change the tables.
_SCHEMA_LOCK = 4_746_329_401


class _PostgresqlTransaction(Transaction):
    def __init__(self, connection: Any, row_lock: str) -> None:
        self.row_lock = row_lock
        self._cursor = connection.cursor()

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        self._cursor.execute(_with_placeholders(sql), tuple(parameters))
        rows: list[Row] = self._cursor.fetchall()
        return rows

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        self._cursor.execute(_with_placeholders(sql), tuple(parameters))
        count: int = self._cursor.rowcount
        return count

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._cursor.executemany(_with_placeholders(sql), list(rows))


class PostgresqlDatabase(Database):
    """Raises ``UsageError`` if psycopg is missing."""

    identity_type = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise UsageError(
                "PostgreSQL needs psycopg.", "Install it: pip install 'arenite[postgresql]'."
            ) from error
        parts = urlsplit(url)
        self.name = f"{parts.scheme}://{parts.hostname or ''}{parts.path}"
        self._url = url
        self._psycopg = psycopg
        self._connection: Any = None

    def errors(self) -> tuple[type[Exception], ...]:
        return (self._psycopg.Error,)

    def translate(self, error: Exception) -> Exception:
        # Deadlocks, lost connections and servers that shut down are operational errors.
        if isinstance(error, self._psycopg.OperationalError | self._psycopg.InterfaceError):
            text = " ".join(str(error).split()).rstrip(".?")
            return DatabaseError(f"{self.name}: {text}.", "Check that the server runs, and the URL.")
        return error

    def lock_schema(self, transaction: Transaction) -> None:
        transaction.query("SELECT pg_advisory_xact_lock(?)", (_SCHEMA_LOCK,))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _begin(self, *, is_reading: bool) -> Transaction:
        if self._connection is None:
            self._connection = self._psycopg.connect(self._url, autocommit=True, connect_timeout=10)
        self._connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" if is_reading else "BEGIN")
        return _PostgresqlTransaction(self._connection, "" if is_reading else " FOR UPDATE")

    def _end(self, sql: str) -> None:
        self._connection.execute(sql)


def _with_placeholders(sql: str) -> str:
    """Return the statement with psycopg's placeholders. No statement has a question mark or percent sign in a
    text."""
    return sql.replace("?", "%s")
