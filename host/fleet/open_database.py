"""Open the database of a fleet by its URL."""

from __future__ import annotations

from pathlib import Path

from arenite.errors import UsageError
from arenite.host.fleet.database import Database
from arenite.host.fleet.migrations import migrate
from arenite.host.fleet.postgresql_database import PostgresqlDatabase
from arenite.host.fleet.sqlite_database import SqliteDatabase

_HINT = "Give sqlite:PATH, a path that ends in .db, or postgresql://[USER[:PASSWORD]@]HOST[:PORT]/NAME."


def open_database(url: str, *, must_exist: bool = False) -> Database:
    """Open the database and bring its tables to the newest version. With ``must_exist``, an SQLite file is not
    created. Raises ``UsageError`` and ``DatabaseError``."""
    database: Database
    if url.startswith(("postgresql://", "postgres://")):
        database = PostgresqlDatabase(url)
    else:
        is_path = "://" not in url and ":" not in url and url.endswith(".db")
        if not (is_path or url.startswith("sqlite:")):
            # The URL may have a password, so it is not repeated.
            raise UsageError("The URL of the database is not one of SQLite or PostgreSQL.", _HINT)
        text = url if is_path else url.removeprefix("sqlite:").removeprefix("//")
        if not text:
            raise UsageError("The URL of the database has no path.", _HINT)
        path = Path(text)
        if must_exist and not path.is_file():
            raise UsageError(
                f"There is no database {path}.", "Start `arenite fleet serve` with it, or give another path."
            )
        database = SqliteDatabase(path)
    migrate(database)
    return database
