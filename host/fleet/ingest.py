"""Store the events of devices, each exactly once, and tell which may be acknowledged.

All happens in one transaction: an event is stored, counted and acted on, or nothing of it happened. A message that
arrives twice changes nothing, so a server may be killed at any moment: a device sends again what was not
acknowledged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from arenite.host.fleet.cohorts import CohortChanges, CohortKey, period_of
from arenite.host.fleet.database import Transaction
from arenite.host.fleet.event_kinds import BOOT, HEARTBEAT, UPDATE_OUTCOME
from arenite.host.fleet.messages import MAX_INTEGER, Acknowledgement, DesiredRelease, EventBatch, Status
from arenite.host.fleet.registry import DEFAULT_GROUP, register_device
from arenite.host.fleet.rollout_progress import report_outcome, report_running
from arenite.host.fleet.topics import is_name
from arenite.input_files import parse_json
from arenite.printable import printable

#: The time of an event that is more than this before or after the time of its arrival counts as wrong.
_MAX_AGE_MS = 90 * 24 * 3600 * 1000
_MAX_AHEAD_MS = 5 * 60 * 1000
_KIND = re.compile(r"[A-Za-z0-9._/-]{1,64}")
_MAX_TEXT = 200


@dataclass(frozen=True, slots=True)
class _Device:
    device: str
    board: str
    core: str
    group: str
    release: str
    firmware: str
    model: str
    abi: str
    reset_cause: str
    generation: int
    desired: DesiredRelease | None


def ingest(
    transaction: Transaction, now_ms: int, batches: Iterable[tuple[str, EventBatch]]
) -> list[tuple[str, Acknowledgement]]:
    """Store the events of batches, each with the name of its device. Return the acknowledgement for each batch;
    publish it only after the transaction was committed."""
    cohorts = CohortChanges()
    # Concurrent transactions lock devices in the same order. The sort keeps the order of one device's batches.
    acknowledgements = [
        (name, _ingest_batch(transaction, now_ms, name, batch, cohorts))
        for name, batch in sorted(batches, key=lambda item: item[0])
    ]
    cohorts.write(transaction)
    return acknowledgements


def set_status(transaction: Transaction, device: str, status: Status) -> None:
    """Note whether a device is connected. A device that is not registered yet is registered by its first events."""
    transaction.execute(
        "UPDATE devices SET is_online = ? WHERE device = ? AND is_online <> ?",
        (int(status.is_online), device, int(status.is_online)),
    )


def _ingest_batch(
    transaction: Transaction, now_ms: int, name: str, batch: EventBatch, cohorts: CohortChanges
) -> Acknowledgement:
    device = _lock_device(transaction, now_ms, name)
    transaction.execute(
        "INSERT INTO streams (device, epoch, acknowledged, stored) VALUES (?, ?, 0, 0) ON CONFLICT DO NOTHING",
        (name, batch.epoch),
    )
    acknowledged, pruned = transaction.query(
        "SELECT acknowledged, pruned FROM streams WHERE device = ? AND epoch = ?", (name, batch.epoch)
    )[0]
    stored = 0
    for event in batch.events:
        if event.sequence <= pruned:
            continue  # it was stored and deleted, and a device or the broker sends it again
        body = parse_json(event.body)
        kind = _kind(body)
        time_ms = _event_time(body, now_ms)
        is_new = transaction.execute(
            "INSERT INTO events (device, epoch, sequence, kind, time_ms, received_ms, body)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                name,
                batch.epoch,
                event.sequence,
                kind,
                time_ms,
                now_ms,
                event.body,
            ),
        )
        if is_new:
            stored += 1
            device = _act(transaction, now_ms, device, kind, time_ms, body, cohorts)
    acknowledged = _contiguous(transaction, name, batch, acknowledged)
    transaction.execute(
        "UPDATE streams SET acknowledged = ?, stored = stored + ? WHERE device = ? AND epoch = ?",
        (acknowledged, stored, name, batch.epoch),
    )
    transaction.execute(
        "UPDATE devices SET board = ?, core = ?, seen_ms = ?, release = ?, firmware = ?, model = ?, abi = ?,"
        " reset_cause = ?, generation = ? WHERE device = ?",
        (
            device.board,
            device.core,
            now_ms,
            device.release,
            device.firmware,
            device.model,
            device.abi,
            device.reset_cause,
            device.generation,
            name,
        ),
    )
    desired = device.desired
    if desired is not None and desired.generation <= device.generation:
        desired = None
    return Acknowledgement(batch.epoch, acknowledged, desired)


def _contiguous(transaction: Transaction, name: str, batch: EventBatch, acknowledged: int) -> int:
    """Return the sequence up to which all events are stored, or were dropped by the device."""
    acknowledged = max(acknowledged, batch.first - 1)
    for (sequence,) in transaction.query(
        "SELECT sequence FROM events WHERE device = ? AND epoch = ? AND sequence > ? ORDER BY sequence",
        (name, batch.epoch, acknowledged),
    ):
        if sequence != acknowledged + 1:
            break
        acknowledged = sequence
    return acknowledged


def _lock_device(transaction: Transaction, now_ms: int, name: str) -> _Device:
    register_device(transaction, now_ms, name, DEFAULT_GROUP, seen_ms=now_ms)
    row = transaction.query(
        "SELECT board, core, group_name, release, firmware, model, abi, reset_cause, generation,"
        " desired_generation, desired_release, desired_image, desired_firmware, desired_model FROM devices"
        " WHERE device = ?" + transaction.row_lock,
        (name,),
    )[0]
    desired = DesiredRelease(*row[9:]) if row[9] else None
    board, core, group, release, firmware, model, abi, reset_cause, generation = row[:9]
    return _Device(name, board, core, group, release, firmware, model, abi, reset_cause, generation, desired)


def _act(
    transaction: Transaction,
    now_ms: int,
    device: _Device,
    kind: str,
    time_ms: int,
    body: dict[str, Any],
    cohorts: CohortChanges,
) -> _Device:
    """Count a new event and act on it. Return the device as the event describes it. Fields that are not as expected
    are left out: the event itself is stored in any case."""
    release = _name(body, "release", device.release)
    if kind == BOOT:
        device = replace(
            device, board=_name(body, "board", device.board), core=_name(body, "core", device.core)
        )
    if kind in (BOOT, UPDATE_OUTCOME):
        device = replace(
            device, firmware=_hash(body, "firmware"), model=_hash(body, "model"), abi=_hash(body, "abi")
        )
    if kind in (BOOT, HEARTBEAT, UPDATE_OUTCOME):
        generation = body.get("generation")
        if type(generation) is int and device.generation <= generation < MAX_INTEGER:
            device = replace(device, generation=generation)
        device = replace(device, release=release)
    period = period_of(time_ms)
    if kind == HEARTBEAT:
        cohorts.add_heartbeat(CohortKey(release, device.board, device.group, period), body)
        report_running(transaction, device.device, device.generation, release)
    elif kind == BOOT:
        device = replace(device, reset_cause=_name(body, "reset_cause", "unknown"))
        crashed = _name(body, "crashed_release", "")
        if crashed:
            cohorts.add_crash(CohortKey(crashed, device.board, device.group, period), device.reset_cause)
        report_running(transaction, device.device, device.generation, release)
    elif kind == UPDATE_OUTCOME:
        golden = body.get("golden")
        failures = golden.get("failures") if isinstance(golden, dict) else None
        report_outcome(
            transaction,
            now_ms,
            device.device,
            device.generation,
            outcome=_text(body, "outcome"),
            reason=_text(body, "reason"),
            golden_failures=failures if type(failures) is int and 0 <= failures < MAX_INTEGER else 0,
        )
    return device


def _event_time(body: dict[str, Any], now_ms: int) -> int:
    """Return the time of an event, or that of its arrival if the device's clock is wrong or missing."""
    time_ms = body.get("time")
    if type(time_ms) is int and now_ms - _MAX_AGE_MS <= time_ms <= now_ms + _MAX_AHEAD_MS:
        return time_ms
    return now_ms


def _kind(body: dict[str, Any]) -> str:
    """Return the schema of an event, or an empty text if its name is not one."""
    value = body.get("schema")
    return value if isinstance(value, str) and _KIND.fullmatch(value) else ""


def _text(body: dict[str, Any], field: str) -> str:
    """Return a text that every database can hold: PostgreSQL refuses NUL, and no database takes half a surrogate
    pair."""
    return printable(str(body.get(field)).encode("ascii", "backslashreplace").decode())[:_MAX_TEXT]


def _name(body: dict[str, Any], field: str, default: str) -> str:
    value = body.get(field)
    return value if isinstance(value, str) and is_name(value) else default


def _hash(body: dict[str, Any], field: str) -> str:
    value = body.get(field)
    return (
        value if isinstance(value, str) and len(value) <= 64 and value.isascii() and value.isalnum() else ""
    )
