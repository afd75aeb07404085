"""Databases keep what was committed, open again after errors, and refuse what is not theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.host.fleet.database import Database, DatabaseError
from arenite.host.fleet.migrations import MIGRATIONS, migrate
from arenite.host.fleet.open_database import open_database
from arenite.host.fleet.registry import (
    ReleaseImage,
    add_release,
    claim_fleet,
    fleet_name,
    parse_release_images,
    set_group,
)
from arenite.host.fleet.sqlite_database import SqliteDatabase
from tests.host.fleet.postgresql_server import PostgresqlServer


def test_a_transaction_happens_wholly_or_not_at_all(database: Database) -> None:
    with pytest.raises(RuntimeError, match="stop"), database.transaction() as transaction:
        transaction.execute("UPDATE fleet SET name = 'other'")
        raise RuntimeError("stop")
    with database.transaction() as transaction:
        assert fleet_name(transaction) == "plant"
        transaction.execute("UPDATE fleet SET served_ms = ?", (5_000_000_000_000,))
    database.close()
    with database.transaction() as transaction:
        assert transaction.value("SELECT served_ms FROM fleet") == 5_000_000_000_000


def test_tables_are_brought_to_the_newest_version(database: Database, database_url: str) -> None:
    again = open_database(database_url)  # changes nothing
    with again.transaction() as transaction:
        assert fleet_name(transaction) == "plant"
    newer = (*MIGRATIONS, ("CREATE TABLE further (number BIGINT)", "INSERT INTO further (number) VALUES (7)"))
    migrate(again, migrations=newer)
    migrate(again, migrations=newer)
    with again.transaction() as transaction:
        assert transaction.query("SELECT number FROM further") == [(7,)]
    with pytest.raises(
        UsageError, match=f"version {len(newer)}; this Arenite knows version {len(MIGRATIONS)}"
    ):
        migrate(again)
    again.close()


def test_a_migration_that_fails_leaves_the_tables_as_they_were(database: Database) -> None:
    with pytest.raises(Exception, match="nonsense"):
        migrate(database, migrations=(*MIGRATIONS, ("CREATE TABLE further (number BIGINT)", "nonsense")))
    with database.transaction() as transaction:
        assert transaction.value("SELECT version FROM schema_version") == len(MIGRATIONS)
        transaction.execute("CREATE TABLE further (number BIGINT)")  # it does not exist


def test_a_fleet_has_one_name(database: Database) -> None:
    with database.transaction() as transaction:
        claim_fleet(transaction, "plant")
    with (
        pytest.raises(UsageError, match="has the fleet 'plant', not 'other'"),
        database.transaction() as transaction,
    ):
        claim_fleet(transaction, "other")


def test_releases_never_change(database: Database) -> None:
    images = [
        ReleaseImage("a", "00" * 32, {"inputs": [[1, 2]], "classes": [3, 4]}),
        ReleaseImage("b", "11" * 32),
    ]
    with database.transaction() as transaction:
        for _ in range(2):
            add_release(transaction, 1, "ann", "2.0.0", images)
        with pytest.raises(UsageError, match="exists already"):
            add_release(transaction, 1, "ann", "2.0.0", images[:1])
        for wrong, words in (
            ([], "no image"),
            ([images[0], images[0]], "two entries"),
            ([ReleaseImage("a", "00" * 32, None, "11" * 32, "22")], "The model of a is '22'"),
            ([ReleaseImage("a", "00" * 32, None, "11" * 32, "11" * 32)], "have the same hash"),
            ([ReleaseImage("a", "00")], "expected its SHA-256"),
            ([ReleaseImage("a", "00" * 32, {"inputs": [[]], "classes": [1]})], "malformed"),
            ([ReleaseImage("a", "00" * 32, {"classes": [1]})], "malformed"),
        ):
            with pytest.raises(UsageError, match=words):
                add_release(transaction, 1, "ann", "3.0.0", wrong)
        assert transaction.query("SELECT actor, action FROM audit") == [("ann", "add_release")]
        with pytest.raises(UsageError, match="no device 'x'"):
            set_group(transaction, 1, "ann", "x", "lab")


@pytest.mark.parametrize(
    "value",
    [
        3,
        {"schema": "arenite.release/1"},
        {"schema": "arenite.release/1", "release": "1.0", "images": {}},
        {"schema": "arenite.release/1", "release": "1.0", "images": [{"board": "a"}]},
        {
            "schema": "arenite.release/1",
            "release": "1.0",
            "images": [{"board": "a", "image": "b", "reference": 3}],
        },
        {"schema": "arenite.release/1", "release": "1.0", "images": [{"board": "a", "model": "b"}]},
        {
            "schema": "arenite.release/1",
            "release": "1.0",
            "images": [{"board": "a", "image": "b", "firmware": "c", "model": "d"}],
        },
    ],
    ids=range(7),
)
def test_malformed_release_files_are_refused(value: object) -> None:
    with pytest.raises(UsageError, match=r"release\.json"):
        parse_release_images(value, Path("release.json"))


def test_bad_urls_and_files_are_refused(tmp_path: Path) -> None:
    for url in ("mysql://user:secret@host/name", "fleet.txt", "sqlite:"):
        with pytest.raises(UsageError) as refused:
            open_database(url)
        assert "secret" not in str(refused.value)
    with pytest.raises(UsageError, match="no database"):
        open_database(str(tmp_path / "none.db"), must_exist=True)
    (tmp_path / "text.db").write_text("this is not a database, although it is long enough" * 100)
    with pytest.raises(UsageError, match="not an SQLite database"):
        open_database(str(tmp_path / "text.db"))
    with pytest.raises(DatabaseError, match="unable to open"):
        migrate(SqliteDatabase(tmp_path / "none" / "fleet.db"))


@pytest.mark.slow
def test_postgresql_returns_after_a_kill(postgresql: PostgresqlServer) -> None:
    database = open_database(postgresql.url("killed"))
    with database.transaction() as transaction:
        claim_fleet(transaction, "plant")
    with pytest.raises(DatabaseError), database.transaction() as transaction:
        transaction.execute("UPDATE fleet SET served_ms = 5")
        postgresql.kill()
        transaction.execute("UPDATE fleet SET served_ms = 6")
    with pytest.raises(DatabaseError, match="Check that the server runs"), database.transaction():
        pass
    postgresql.start()
    with database.transaction() as transaction:
        assert transaction.value("SELECT served_ms FROM fleet") == 0
    database.close()
