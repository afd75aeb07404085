"""A small interface to SQL databases, so that the same statements run on SQLite and on PostgreSQL.

Statements have ``?`` for each parameter, and use only what both databases understand. All times are Unix times in
milliseconds.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from arenite.errors import ToolError

Row = tuple[Any, ...]


class DatabaseError(ToolError):
    """The database cannot be reached, or ended a transaction. The same transaction may succeed later."""


class Transaction(ABC):
    """A transaction. ``row_lock`` ends a SELECT whose rows no other transaction may change meanwhile. It is empty if
    the transaction only reads."""

    row_lock = ""

    @abstractmethod
    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of a SELECT, or of a statement with RETURNING."""

    @abstractmethod
    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Run a statement, and return the number of rows that it changed."""

    @abstractmethod
    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row of parameters."""

    def query_one(self, sql: str, parameters: Sequence[Any] = ()) -> Row | None:
        rows = self.query(sql, parameters)
        return rows[0] if rows else None

    def value(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """Return the first column of the first row. There must be one."""
        return self.query(sql, parameters)[0][0]


class Database(ABC):
    """A database with one connection, which is opened again after an error. It is for one thread."""

    #: The type of a column that numbers the rows of a table.
    identity_type = ""
    #: The name of the database for messages, without a password.
    name = ""

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Begin a transaction; commit it at the end of the block, or roll it back if the block raises. Raises
        ``DatabaseError``."""
        with self._ended(is_reading=False) as transaction:
            yield transaction

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Begin a transaction that only reads. It sees the database as it is at one moment, and no program that writes
        waits for it. Raises ``DatabaseError``."""
        with self._ended(is_reading=True) as transaction:
            yield transaction

    @contextlib.contextmanager
    def _ended(self, *, is_reading: bool) -> Iterator[Transaction]:
        """Begin a transaction, and end it after the block."""
        with self._translated_errors():
            transaction = self._begin(is_reading=is_reading)
            try:
                yield transaction
            except BaseException:
                with contextlib.suppress(Exception):
                    self._end("ROLLBACK")
                raise
            self._end("COMMIT")

    @contextlib.contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except self.errors() as error:
            self.close()
            raise self.translate(error) from error

    @abstractmethod
    def errors(self) -> tuple[type[Exception], ...]:
        """Return the classes of errors that the driver raises."""

    @abstractmethod
    def translate(self, error: Exception) -> Exception:
        """Return the error for an error of the driver: ``DatabaseError`` if it may pass, ``UsageError`` for a mistake
        of the user, or the same error if it is a bug."""

    @abstractmethod
    def lock_schema(self, transaction: Transaction) -> None:
        """Wait until no other process changes the tables, and keep others from doing so until the transaction
        ends."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection. The next transaction opens it again."""

    @abstractmethod
    def _begin(self, *, is_reading: bool) -> Transaction: ...

    @abstractmethod
    def _end(self, sql: str) -> None: ...
