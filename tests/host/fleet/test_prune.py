"""Old events are deleted, and none of them is stored or counted again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.host.fleet import prune
from arenite.host.fleet.cohorts import Cohort, read_all_cohorts
from arenite.host.fleet.database import Database
from arenite.host.fleet.fleet_status import EventCounts, count_events
from arenite.host.fleet.ingest import ingest
from arenite.host.fleet.messages import Event, EventBatch
from arenite.host.fleet.prune import MIN_AGE_MS, prune_events
from arenite.host.fleet.registry import ReleaseImage, add_release
from arenite.host.fleet.rollout import load_rollout, roll_back, start_rollout
from tests.host.fleet.direct_fleet import SETTINGS, START_MS, DirectFleet

DAY_MS = MIN_AGE_MS
HEARTBEAT = json.dumps(
    {"schema": "arenite.heartbeat/1", "release": "1", "inferences": 5, "latency": [[3, 5]]}
)


def send(database: Database, now_ms: int, first: int, *numbers: int, device: str = "d") -> int:
    """Store heartbeats, and return the number that the server acknowledges."""
    batch = EventBatch(1, first, tuple(Event(number, HEARTBEAT) for number in numbers))
    with database.transaction() as transaction:
        return ingest(transaction, now_ms, [(device, batch)])[0][1].sequence


def state(database: Database) -> tuple[list[int], EventCounts, dict[tuple[str, str, str], Cohort]]:
    with database.reading() as transaction:
        rows = transaction.query("SELECT sequence FROM events ORDER BY device, sequence")
        return [row[0] for row in rows], count_events(transaction), read_all_cohorts(transaction)


def audit(database: Database) -> list[dict[str, int]]:
    with database.reading() as transaction:
        rows = transaction.query("SELECT details FROM audit WHERE action = 'prune' ORDER BY id")
    return [json.loads(row[0]) for row in rows]


def test_old_events_go_and_their_copies_are_not_counted_again(database: Database) -> None:
    assert send(database, START_MS, 1, 1, 2, 3) == 3
    now_ms = START_MS + 10 * DAY_MS
    assert send(database, now_ms, 4, 4, 5) == 5
    _, counts, sums = state(database)
    assert prune_events(database, now_ms, "ann", 5 * DAY_MS).events == 3
    assert state(database) == ([4, 5], counts, sums)
    # The device has missed the acknowledgement, and sends everything again.
    assert send(database, now_ms, 1, 1, 2, 3, 4, 5) == 5
    assert state(database) == ([4, 5], counts, sums)
    assert send(database, now_ms, 4, 6) == 6
    assert state(database)[1] == EventCounts(6, 0)
    assert prune_events(database, now_ms, "ann", 5 * DAY_MS).events == 0
    assert [entry["events"] for entry in audit(database)] == [3]


def test_events_after_a_gap_stay_until_it_is_filled(database: Database) -> None:
    assert send(database, START_MS, 1, 1, 2, 5, 6) == 2
    now_ms = START_MS + 10 * DAY_MS
    assert prune_events(database, now_ms, "ann", DAY_MS).events == 2
    assert state(database)[0] == [5, 6]
    assert send(database, now_ms, 3, 3, 4) == 6
    assert state(database)[1] == EventCounts(6, 0)
    # Events after one that arrived late wait for it.
    assert prune_events(database, now_ms, "ann", DAY_MS).events == 0
    assert prune_events(database, now_ms + 2 * DAY_MS, "ann", DAY_MS).events == 4
    assert state(database)[:2] == ([], EventCounts(6, 0))


def test_it_works_in_small_transactions_and_goes_on_after_a_kill(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune, "_MAX_EVENTS", 7)
    monkeypatch.setattr(prune, "_MAX_STREAMS", 2)
    for k in range(5):
        send(database, START_MS + k, 1, *range(1, 11), device=f"d{k}")
    _, counts, sums = state(database)
    real, calls = prune._delete_events, 0

    def fail_later(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        deleted, done = real(*arguments)  # type: ignore[arg-type]
        assert deleted <= 7
        return deleted, done

    monkeypatch.setattr(prune, "_delete_events", fail_later)
    with pytest.raises(KeyboardInterrupt):
        prune_events(database, START_MS + 3 * DAY_MS, "ann", 2 * DAY_MS)
    left = len(state(database)[0])
    assert 0 < left < 50
    # What was deleted before the kill is in the audit.
    assert [entry["events"] for entry in audit(database)] == [50 - left]
    assert prune_events(database, START_MS + 3 * DAY_MS, "ann", 2 * DAY_MS).events == left
    assert state(database) == ([], counts, sums)
    assert [entry["events"] for entry in audit(database)] == [50 - left, left]


def test_sums_are_merged_but_not_those_that_a_rollout_compares(database: Database) -> None:
    for day in range(10):
        send(database, START_MS + day * DAY_MS, 1, day + 1)
    _, _, sums = state(database)
    with database.transaction() as transaction:
        board = transaction.value("SELECT board FROM devices")
        add_release(transaction, START_MS, "ann", "2", [ReleaseImage(board, "0" * 64)])
        start_rollout(transaction, START_MS + 5 * DAY_MS, "ann", "2", "default", SETTINGS)
    result = prune_events(database, START_MS + 9 * DAY_MS, "ann", DAY_MS)
    assert (result.events, result.periods) == (8, 4)
    assert state(database)[2] == sums
    with database.reading() as transaction:
        periods = transaction.query("SELECT DISTINCT period_ms FROM cohorts ORDER BY period_ms")
        later = read_all_cohorts(transaction, START_MS + 4 * DAY_MS)
    assert len(periods) == 7 and periods[0] == (0,)
    assert [cohort.totals["heartbeats"] for cohort in later.values()] == [6]


def test_a_fleet_goes_on_while_events_are_deleted(database: Database, tmp_path: Path) -> None:
    """Lost and doubled messages, a rollout, and a prune of everything that is a day old, each few hours."""
    fleet = DirectFleet(database, tmp_path / "devices", 16, loss=0.1)
    fleet.run(26)
    number = fleet.start("2.0.0")
    deleted = 0
    while fleet.rollout(number).state == "running":
        fleet.run(3)
        deleted += prune_events(database, fleet.clock.ms, "ann", DAY_MS).events
    assert fleet.rollout(number).state == "done"
    assert deleted > 100
    fleet.run(3)
    _, counts, sums = state(database)
    assert counts == EventCounts(sum(last for d in fleet.devices.values() for last in d.recorded.values()), 0)
    with database.reading() as transaction:
        kept = transaction.value("SELECT count(*) FROM events WHERE kind = 'arenite.heartbeat/1'")
    assert sum(cohort.totals["heartbeats"] for cohort in sums.values()) > kept


def test_a_group_that_is_rolling_back_starts_no_rollout(database: Database, tmp_path: Path) -> None:
    fleet = DirectFleet(database, tmp_path / "devices", 8)
    fleet.run(1)
    number = fleet.start("2.0.0")
    fleet.run(0.25)
    with database.transaction() as transaction:
        roll_back(transaction, fleet.clock.ms, "ann", load_rollout(transaction, number), "a reason", {})
    fleet.add_release("3.0.0")
    with database.transaction() as transaction:
        with pytest.raises(UsageError, match=r"rollout 1 of 2\.0\.0, which is rolling back: \d+ device"):
            start_rollout(transaction, fleet.clock.ms, "ann", "3.0.0", "default", SETTINGS)
        start_rollout(
            transaction, fleet.clock.ms, "ann", "3.0.0", "default", SETTINGS, while_rolling_back=True
        )
