"""The registry has each event exactly once, whatever is lost or doubled on the way."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from arenite.host.fleet.cohorts import read_cohorts
from arenite.host.fleet.database import Database, Transaction
from arenite.host.fleet.ingest import ingest, set_status
from arenite.host.fleet.messages import Event, EventBatch, Status
from arenite.host.fleet.open_database import open_database
from tests.host.fleet.direct_fleet import START_MS, DirectFleet
from tests.host.fleet.simulated_installer import hash_of


def batch(first: int, last: int, *, epoch: int = 7, oldest: int | None = None, **fields: Any) -> EventBatch:
    body = json.dumps({"schema": "arenite.heartbeat/1", "release": "1.0", "time": START_MS, **fields})
    events = tuple(Event(sequence, body) for sequence in range(first, last + 1))
    return EventBatch(epoch, first if oldest is None else oldest, events)


def acknowledged(transaction: Transaction, *batches: EventBatch) -> list[int]:
    """Ingest batches of one device one after the other, and return what is acknowledged."""
    return [ingest(transaction, START_MS, [("d1", item)])[0][1].sequence for item in batches]


def test_events_are_stored_once(database: Database) -> None:
    with database.transaction() as transaction:
        batches = (batch(1, 3), batch(1, 3), batch(2, 5, oldest=2), batch(1, 4, epoch=8))
        assert acknowledged(transaction, *batches) == [3, 3, 5, 4]
        assert transaction.value("SELECT count(*) FROM events") == 9
        assert transaction.value("SELECT sum(stored) FROM streams") == 9
        cohort = read_cohorts(transaction, "default", START_MS, release="1.0")["unknown"]
        assert cohort.totals["heartbeats"] == 9


def test_an_event_behind_a_gap_is_acknowledged_when_the_gap_is_filled(database: Database) -> None:
    with database.transaction() as transaction:
        behind = batch(5, 6, oldest=1)
        assert acknowledged(transaction, batch(1, 2), behind, batch(3, 4, oldest=3)) == [2, 2, 6]


def test_events_that_the_device_dropped_are_not_waited_for(database: Database) -> None:
    with database.transaction() as transaction:
        assert acknowledged(transaction, batch(1, 2), batch(9, 10)) == [2, 10]
        acknowledged_up_to, stored = transaction.query("SELECT acknowledged, stored FROM streams")[0]
        assert acknowledged_up_to - stored == 6  # the number of lost events
        # An old copy of a message that brings one of them is still welcome.
        assert acknowledged(transaction, batch(3, 3)) == [10]
        assert transaction.value("SELECT count(*) FROM events") == 5


def test_strange_fields_are_stored_but_do_not_count(database: Database) -> None:
    strange: list[Any] = [
        None,
        -1,
        10**15,
        "x",
        [],
        {},
        [[1]],
        [[-1, 3], [500, 3], ["a", 1]],
        True,
        1.5,
        "\0",
        "\ud800",
    ]
    with database.transaction() as transaction:
        for sequence, value in enumerate(strange, 1):
            fields = (
                "release",
                "time",
                "generation",
                "covered_ms",
                "latency",
                "classes",
                "inputs",
                "confidence",
            )
            ingest(transaction, START_MS, [("d1", batch(sequence, sequence, **dict.fromkeys(fields, value)))])
            for schema in ("arenite.boot/1", "arenite.update-outcome/1", value):
                fields = (
                    "board",
                    "core",
                    "firmware",
                    "crashed_release",
                    "reset_cause",
                    "golden",
                    "outcome",
                    "reason",
                )
                item = batch(
                    sequence, sequence, epoch=9, **{**dict.fromkeys(fields, value), "schema": schema}
                )
                ingest(transaction, START_MS, [("d2", item)])
        assert transaction.value("SELECT count(*) FROM events") == 2 * len(strange)
        assert transaction.value("SELECT min(amount) FROM cohorts") > 0


def test_a_boot_registers_a_device(database: Database) -> None:
    fields: dict[str, Any] = {
        "board": "qemu_microbit",
        "core": "cortex-m0",
        "firmware": hash_of("f"),
        "reset_cause": "fault",
    }
    with database.transaction() as transaction:
        boot = batch(1, 1, schema="arenite.boot/1", crashed_release="0.9", generation=3, **fields)
        ingest(transaction, START_MS, [("d1", boot)])
        columns = "board, core, firmware, reset_cause, release, generation, is_online"
        row = transaction.query(f"SELECT {columns} FROM devices")[0]
        assert row == (*fields.values(), "1.0", 3, 1)
        crashed = read_cohorts(transaction, "default", START_MS, release="0.9")["qemu_microbit"]
        assert crashed.totals["crashes"] == 1
        set_status(transaction, "d1", Status(7, False))
        assert transaction.value("SELECT is_online FROM devices") == 0


def test_wrong_clocks_do_not_move_the_statistics(database: Database) -> None:
    with database.transaction() as transaction:
        for epoch, time_ms in enumerate((0, START_MS * 2, None, START_MS - 3_600_000), 1):
            ingest(transaction, START_MS, [("d1", batch(1, 1, epoch=epoch, time=time_ms))])
        rows = transaction.query("SELECT period_ms, amount FROM cohorts ORDER BY period_ms")
        assert rows == [(START_MS - 3_600_000, 1), (START_MS, 3)]


def test_lossy_lines_and_restarts_lose_and_double_nothing(database: Database, tmp_path: Path) -> None:
    fleet = DirectFleet(database, tmp_path / "devices", 8, loss=0.3)
    fleet.run(3)
    fleet.run(48, server=False)  # two days offline
    for device in fleet.devices.values():
        device.boot("watchdog")
    fleet.run(3)
    for _ in range(20):
        fleet.clock.ms += 600_000
        fleet.exchange()
    assert all(device.agent.pending_events == 0 for device in fleet.devices.values())
    assert fleet.stored() == fleet.recorded()
    with database.transaction() as transaction:
        assert transaction.value("SELECT sum(acknowledged - stored) FROM streams") == 0
        heartbeats = transaction.value("SELECT sum(amount) FROM cohorts WHERE quantity = 'heartbeats'")
        assert heartbeats == transaction.value(
            "SELECT count(*) FROM events WHERE kind = 'arenite.heartbeat/1'"
        )


@pytest.mark.parametrize("workers", [4])
def test_concurrent_servers_store_each_event_once(
    database: Database, database_url: str, workers: int
) -> None:
    """Each of several servers gets every message, as if the broker delivered all of them several times."""
    from arenite.host.fleet.database import DatabaseError

    names = [f"d{k}" for k in range(6)]
    failures: list[BaseException] = []

    def serve(offset: int) -> None:
        own = open_database(database_url)
        try:
            for first in range(1, 41, 4):
                order = names[offset:] + names[:offset]
                while True:
                    try:
                        with own.transaction() as transaction:
                            ingest(
                                transaction,
                                START_MS,
                                [(name, batch(first, first + 3, oldest=1)) for name in order],
                            )
                        break
                    except DatabaseError:
                        continue
        except BaseException as error:
            failures.append(error)
        finally:
            own.close()

    threads = [threading.Thread(target=serve, args=(k,)) for k in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with database.transaction() as transaction:
        assert transaction.value("SELECT count(*) FROM events") == 6 * 40
        rows = transaction.query("SELECT acknowledged, stored FROM streams")
        assert rows == [(40, 40)] * 6
        cohort = read_cohorts(transaction, "default", START_MS, release="1.0")["unknown"]
        assert cohort.totals["heartbeats"] == 6 * 40
