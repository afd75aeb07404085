"""Delete old events, and merge old sums, while servers may run.

Each transaction is small, so servers wait only for a moment. A process that is killed leaves a database in which the
next one goes on.

Exactly once: only events up to the acknowledged one of their stream are deleted, and the stream keeps their largest
number in ``pruned``. A copy of such an event that arrives later is not stored or counted again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from arenite.host.fleet.audit import NO_ROLLOUT
from arenite.host.fleet.cohorts import add_amounts, period_of
from arenite.host.fleet.database import Database, Transaction
from arenite.host.fleet.rollout_facts import BASELINE_MS

#: Younger events are never deleted.
MIN_AGE_MS = 24 * 3600 * 1000
#: The largest number of events that one transaction deletes, and of streams that it looks at.
_MAX_EVENTS = 1000
_MAX_STREAMS = 200
#: The period that holds the merged sums. It is before the time of every event.
_MERGED_PERIOD_MS = 0


@dataclass(slots=True)
class PruneResult:
    """The number of deleted events, and of periods of time whose sums were merged."""

    events: int = 0
    periods: int = 0


class _Audit:
    """One entry of the audit for all transactions. Each of them writes the numbers so far."""

    def __init__(self, now_ms: int, actor: str, age_ms: int) -> None:
        self.result = PruneResult()
        self._now_ms, self._actor, self._age_ms = now_ms, actor, age_ms
        self._id: int | None = None

    def write(self, transaction: Transaction, events: int, periods: int) -> int:
        """Write the numbers with those of this transaction, and return the number of the entry."""
        details = json.dumps(
            {
                "before_ms": self._now_ms - self._age_ms,
                "events": self.result.events + events,
                "older_than_days": self._age_ms / MIN_AGE_MS,
                "periods": self.result.periods + periods,
            }
        )
        if self._id is None:
            number: int = transaction.value(
                "INSERT INTO audit (time_ms, actor, rollout, action, details)"
                " VALUES (?, ?, ?, 'prune', ?) RETURNING id",
                (self._now_ms, self._actor, NO_ROLLOUT, details),
            )
            return number
        transaction.execute("UPDATE audit SET details = ? WHERE id = ?", (details, self._id))
        return self._id

    def committed(self, number: int, events: int, periods: int) -> None:
        self._id = number
        self.result.events += events
        self.result.periods += periods


def prune_events(database: Database, now_ms: int, actor: str, age_ms: int) -> PruneResult:
    """Delete the events that arrived more than ``age_ms`` ago, and merge the sums of periods that are as old. What
    rollouts compare stays as it is. Raises ``ValueError`` for an age below ``MIN_AGE_MS``, and ``DatabaseError``."""
    if age_ms < MIN_AGE_MS:
        raise ValueError(f"the age {age_ms} is below {MIN_AGE_MS}")
    audit = _Audit(now_ms, actor, age_ms)
    with database.reading() as transaction:
        # Servers lock devices in this order too.
        streams = sorted(transaction.query("SELECT device, epoch FROM streams"))
    position = 0
    while position < len(streams):
        with database.transaction() as transaction:
            deleted, done = _delete_events(
                transaction, streams[position : position + _MAX_STREAMS], now_ms - age_ms
            )
            number = audit.write(transaction, deleted, 0) if deleted else None
        if number is not None:
            audit.committed(number, deleted, 0)
        position += done
    while True:
        with database.transaction() as transaction:
            is_merged = _merge_period(transaction, now_ms, now_ms - age_ms)
            number = audit.write(transaction, 0, 1) if is_merged else None
        if number is None:
            return audit.result
        audit.committed(number, 0, 1)


def _delete_events(
    transaction: Transaction, streams: list[tuple[str, int]], before_ms: int
) -> tuple[int, int]:
    """Delete at most ``_MAX_EVENTS`` events of streams. Return (the number of deleted events, the number of streams
    that have no more to delete)."""
    deleted = 0
    for done, (device, epoch) in enumerate(streams):
        # Servers lock the device too before they store its events.
        transaction.query("SELECT device FROM devices WHERE device = ?" + transaction.row_lock, (device,))
        limit = _MAX_EVENTS - deleted
        rows = transaction.query(
            "SELECT e.sequence, e.received_ms FROM events e, streams s WHERE s.device = ? AND s.epoch = ?"
            " AND e.device = s.device AND e.epoch = s.epoch AND e.sequence <= s.acknowledged"
            " ORDER BY e.sequence LIMIT ?",
            (device, epoch, limit),
        )
        # Events of a stream arrive in about the order of their numbers. One that arrived late keeps those after it.
        last = 0
        for sequence, received_ms in rows:
            if received_ms >= before_ms:
                break
            last = sequence
        if last:
            deleted += transaction.execute(
                "DELETE FROM events WHERE device = ? AND epoch = ? AND sequence <= ?", (device, epoch, last)
            )
            transaction.execute(
                "UPDATE streams SET pruned = ? WHERE device = ? AND epoch = ?", (last, device, epoch)
            )
        if deleted >= _MAX_EVENTS:
            return deleted, done
    return deleted, len(streams)


def _merge_period(transaction: Transaction, now_ms: int, before_ms: int) -> bool:
    """Add the sums of the oldest period before ``before_ms`` to those of ``_MERGED_PERIOD_MS``. Return whether there
    was one. The metrics do not change."""
    first_needed_ms = now_ms - BASELINE_MS
    for (created_ms,) in transaction.query(
        "SELECT created_ms FROM rollouts WHERE state = 'running' OR state = 'paused'"
    ):
        first_needed_ms = min(first_needed_ms, created_ms - BASELINE_MS)
    period_ms = transaction.value(
        "SELECT min(period_ms) FROM cohorts WHERE period_ms > ?", (_MERGED_PERIOD_MS,)
    )
    if period_ms is None or period_ms >= period_of(min(before_ms, first_needed_ms)):
        return False
    # A server may add to the rows until they are deleted, so the deleted amounts count.
    rows = transaction.query(
        "DELETE FROM cohorts WHERE period_ms = ? RETURNING group_name, board, release, quantity, bucket, amount",
        (period_ms,),
    )
    add_amounts(
        transaction,
        [
            (group, board, release, _MERGED_PERIOD_MS, quantity, bucket, amount)
            for group, board, release, quantity, bucket, amount in rows
        ],
    )
    return True
