"""Databases for the tests: every test that takes ``database`` runs on SQLite, and in the slow tests on PostgreSQL."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from arenite.host.fleet.database import Database
from arenite.host.fleet.migrations import migrate
from arenite.host.fleet.open_database import open_database
from arenite.host.fleet.registry import claim_fleet
from arenite.host.fleet.sqlite_database import SqliteDatabase
from benchmarks.fleet.services import Broker
from tests.free_port import free_port
from tests.host.fleet.postgresql_server import PostgresqlServer, missing_part, postgresql_server

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresqlServer]:
    reason = missing_part()
    if reason:
        pytest.skip(reason)
    with postgresql_server() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'fleet.db'}"
    server: PostgresqlServer = request.getfixturevalue("postgresql")
    return server.url(f"fleet_{next(_NUMBERS)}")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database: Database
    if database_url.startswith("sqlite:"):
        database = SqliteDatabase(Path(database_url.removeprefix("sqlite:")), is_durable=False)
        migrate(database)
    else:
        database = open_database(database_url)
    with database.transaction() as transaction:
        claim_fleet(transaction, "plant")
    yield database
    database.close()


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    port = free_port()
    broker = Broker(tmp_path, port)
    broker.start()
    yield port
    broker.kill()
