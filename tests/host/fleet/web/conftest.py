"""A fleet in the middle of a rollout, and its page."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from arenite.host.fleet.open_database import open_database
from arenite.host.fleet.registry import claim_fleet
from arenite.host.fleet.sqlite_database import SqliteDatabase
from arenite.host.fleet.web.server import FleetPage
from tests.host.fleet.direct_fleet import DirectFleet, SetClock


class Running:
    """A page with the fleet that it shows. The clock is that of the fleet at the time of the test."""

    def __init__(self, fleet: DirectFleet, path: Path, token: str | None = None) -> None:
        self.fleet = fleet
        self.clock = SetClock()
        self.clock.ms = fleet.clock.ms
        self.page = FleetPage(open_database(str(path)), self.clock, print, token=token)
        self.page.start()

    def get(self, path: str, method: str = "GET", **headers: str) -> tuple[int, http.client.HTTPMessage, str]:
        """Return the status, the headers and the body of an answer over HTTP."""
        port = urlsplit(self.page.public_url).port
        connection = http.client.HTTPConnection("127.0.0.1", port or 0, timeout=60)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, body


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DirectFleet]:
    """24 devices in the second wave of a rollout; two of them are silent."""
    folder = tmp_path_factory.mktemp("fleet")
    database = SqliteDatabase(folder / "fleet.db", is_durable=False)
    open_database(str(folder / "fleet.db")).close()
    with database.transaction() as transaction:
        claim_fleet(transaction, "plant")
    fleet = DirectFleet(database, folder / "devices", 24)
    fleet.run(3)
    fleet.start("2.0.0")
    fleet.run(2)
    fleet.unreachable = {"d0022", "d0023"}
    fleet.run(1.5)
    yield fleet
    database.close()


@pytest.fixture
def running(fleet: DirectFleet) -> Iterator[Running]:
    running = Running(fleet, Path(fleet.database.name))
    yield running
    running.page.close()
