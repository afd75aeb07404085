"""The tables of the store, and the migration of older files to them.

``PRAGMA user_version`` is the version of the tables, and ``PRAGMA application_id`` marks the file as a store. To change
the tables, add a step to ``MIGRATIONS``. Never edit existing steps.
"""

from __future__ import annotations

import sqlite3

#: The value of ``application_id`` in a store: the ASCII codes of "AREN".
APPLICATION = 0x4152454E

_FIRST = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL,               -- UTC, ISO 8601
    version TEXT NOT NULL,            -- of Arenite
    repository TEXT, revision TEXT, dirty INTEGER,  -- git, of the model's folder or else the working folder
    model TEXT NOT NULL, model_path TEXT NOT NULL, model_sha256 TEXT NOT NULL,
    image_sha256 TEXT, firmware_sha256 TEXT, compiler TEXT,
    board TEXT NOT NULL, core TEXT NOT NULL,
    mode TEXT NOT NULL,               -- JSON: what was asked of the build and the run
    data TEXT NOT NULL, data_sha256 TEXT,
    samples INTEGER NOT NULL, bit_exact INTEGER NOT NULL, missing INTEGER NOT NULL,
    accuracy REAL,
    instructions INTEGER, latency_us REAL, latency_p95_us REAL, cycles INTEGER, init_instructions INTEGER,
    ram_total INTEGER, arena INTEGER, stack INTEGER, static INTEGER,
    flash_total INTEGER, weights INTEGER, code INTEGER,
    energy_uj REAL, energy_kind TEXT,
    host TEXT NOT NULL,
    matrix TEXT, cell TEXT,
    result TEXT NOT NULL              -- the whole arenite.bench/1 object
);
CREATE INDEX runs_by_series ON runs (model, board, mode);
CREATE INDEX runs_by_matrix ON runs (matrix);
CREATE TABLE layers (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    layer INTEGER NOT NULL,
    op TEXT NOT NULL, macs INTEGER, instructions INTEGER, cycles INTEGER, ticks INTEGER, kernel TEXT, tier TEXT,
    PRIMARY KEY (run, layer)
) WITHOUT ROWID;
CREATE TABLE matrices (
    id TEXT PRIMARY KEY,
    key TEXT NOT NULL,                -- path of the file bench.toml
    started TEXT NOT NULL,
    finished TEXT                     -- NULL: interrupted, or under way
);
"""

#: Adds the 25th and 75th percentile of the energy, so runs can be compared without reading their complete objects.
_SECOND = """
ALTER TABLE runs ADD COLUMN energy_p25_uj REAL;
ALTER TABLE runs ADD COLUMN energy_p75_uj REAL;
"""

MIGRATIONS = (_FIRST, _SECOND)
VERSION = len(MIGRATIONS)


class NotAStoreError(Exception):
    """The database belongs to another program."""


class NewerStoreError(Exception):
    """The store was written by a later version of Arenite."""


def migrate(connection: sqlite3.Connection) -> None:
    """Create the tables, or update them to the version ``VERSION``, in one transaction.

    If it raises ``NotAStoreError``, ``NewerStoreError`` or ``sqlite3.Error``, the file was not changed.
    """
    if _version(connection) == VERSION and _number(connection, "application_id") == APPLICATION:
        return
    connection.execute("BEGIN IMMEDIATE")  # another program may be migrating the file
    try:
        version = _version(connection)
        is_store = _number(connection, "application_id") == APPLICATION
        if not is_store and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise NotAStoreError
        if version > VERSION:
            raise NewerStoreError
        for step in MIGRATIONS[version:]:
            for statement in filter(str.strip, step.split(";\n")):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    return _number(connection, "user_version")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
