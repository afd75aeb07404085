"""Read what the server of a fleet has stored of its devices."""

from __future__ import annotations

from typing import Any

from arenite.host.fleet.clock import SystemClock
from arenite.host.fleet.cohorts import Cohort, read_all_cohorts
from arenite.host.fleet.open_database import open_database
from arenite.input_files import parse_json


def boots(database: str) -> list[dict[str, Any]]:
    with open_database(database).transaction() as transaction:
        rows = transaction.query("SELECT body FROM events WHERE kind = 'arenite.boot/1' ORDER BY received_ms")
    return [parse_json(row[0]) for row in rows]


def cohort(database: str, release: str) -> Cohort:
    """Return the sums of all heartbeats of a release."""
    total = Cohort()
    with open_database(database).transaction() as transaction:
        for key, sums in read_all_cohorts(transaction, SystemClock().now_ms() - 3_600_000).items():
            if key[0] == release:
                total.add(sums)
    return total
