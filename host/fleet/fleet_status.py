"""The fleet and its rollouts at a glance, as JSON objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arenite.host.fleet.audit import read_audit
from arenite.host.fleet.database import Transaction
from arenite.host.fleet.gates import GateResult, check_gates
from arenite.host.fleet.registry import fleet_name
from arenite.host.fleet.rollout import Rollout, device_states, list_rollouts, load_rollout
from arenite.host.fleet.rollout_facts import collect_facts

#: A device counts as seen recently if it sent an event within this time.
_RECENT_MS = 3600 * 1000


@dataclass(frozen=True, slots=True)
class EventCounts:
    """Events that were stored, also those that were deleted since; and events that devices dropped because their stores
    were full."""

    stored: int
    lost: int


def fleet_status(transaction: Transaction, now_ms: int, *, with_devices: bool = False) -> dict[str, Any]:
    """Return ``arenite.fleet/1``."""
    total, online, seen = transaction.query(
        "SELECT count(*), coalesce(sum(is_online), 0), coalesce(sum(CASE WHEN seen_ms > ? THEN 1 ELSE 0 END), 0)"
        " FROM devices",
        (now_ms - _RECENT_MS,),
    )[0]
    events = count_events(transaction)
    result: dict[str, Any] = {
        "schema": "arenite.fleet/1",
        "fleet": fleet_name(transaction),
        "devices": {"total": int(total), "online": int(online), "seen_last_hour": int(seen)},
        "groups": _counts(transaction, "group_name"),
        "boards": _counts(transaction, "board"),
        "releases": _counts(transaction, "release"),
        "events": {"stored": events.stored, "lost": events.lost},
        "rollouts": [rollout_summary(transaction, rollout) for rollout in list_rollouts(transaction)],
    }
    if with_devices:
        names = ("device", "board", "core", "group", "release", "online", "seen_ms", "reset_cause", "desired")
        rows = transaction.query(
            "SELECT device, board, core, group_name, release, is_online, seen_ms, reset_cause, desired_release"
            " FROM devices ORDER BY device"
        )
        result["device_list"] = [
            {**dict(zip(names, row, strict=True)), "online": bool(row[5])} for row in rows
        ]
    return result


def rollout_status(transaction: Transaction, now_ms: int, number: int) -> dict[str, Any]:
    """Return ``arenite.rollout/1``. Raises ``UsageError`` if there is no such rollout."""
    rollout = load_rollout(transaction, number)
    return {
        "schema": "arenite.rollout/1",
        **rollout_summary(transaction, rollout),
        "settings": rollout.settings.to_json(),
        "gates": [result.to_json() for result in gate_results(transaction, now_ms, rollout)],
        "audit": read_audit(transaction, number),
    }


def count_events(transaction: Transaction) -> EventCounts:
    stored, acknowledged, kept = transaction.query(
        "SELECT coalesce(sum(stored), 0), coalesce(sum(acknowledged), 0),"
        " coalesce(sum(CASE WHEN stored > acknowledged THEN acknowledged ELSE stored END), 0) FROM streams"
    )[0]
    return EventCounts(int(stored), int(acknowledged) - int(kept))


def gate_results(transaction: Transaction, now_ms: int, rollout: Rollout) -> list[GateResult]:
    """Return the result of each gate, for each kind of board that the rollout has reached."""
    facts, _ = collect_facts(transaction, now_ms, rollout)
    return [result for board in sorted(facts) for result in check_gates(facts[board], rollout.settings)]


def rollout_summary(transaction: Transaction, rollout: Rollout) -> dict[str, Any]:
    """Return what every description of a rollout has."""
    return {
        "id": rollout.id,
        "release": rollout.release,
        "group": rollout.group,
        "state": rollout.state,
        "wave": rollout.wave,
        "waves": len(rollout.settings.waves),
        "created_ms": rollout.created_ms,
        "reason": rollout.reason,
        "devices": dict(sorted(device_states(transaction, rollout.id).items())),
    }


def _counts(transaction: Transaction, column: str) -> dict[str, int]:
    rows = transaction.query(f"SELECT {column}, count(*) FROM devices GROUP BY {column} ORDER BY {column}")
    return {name: int(count) for name, count in rows}
