"""What the page of a fleet shows, as JSON objects."""

from __future__ import annotations

import json
from typing import Any

from arenite.host.fleet.audit_words import audit_sentence
from arenite.host.fleet.database import Transaction
from arenite.host.fleet.device_presence import PRESENCE_SQL, PRESENCES, silent_before
from arenite.host.fleet.fleet_status import fleet_status, gate_results, rollout_summary
from arenite.host.fleet.rollout import Rollout
from arenite.host.fleet.rollout_waves import current_rollouts, waves_of

#: The number of devices that one request returns at most.
PAGE_DEVICES = 100
_AUDIT_ENTRIES = 30
_MAX_WORDS = 8
#: The columns of a device, with their keys in the JSON object.
_COLUMNS = {
    "device": "device",
    "board": "board",
    "core": "core",
    "group": "group_name",
    "release": "release",
    "desired": "desired_release",
    "reset_cause": "reset_cause",
    "seen_ms": "seen_ms",
}
_SEARCHED = ("device", "board", "core", "group_name", "release", "presence")


def overview(transaction: Transaction, now_ms: int) -> dict[str, Any]:
    """Return the fleet without its devices."""
    counts = {
        state: int(count)
        for state, count in transaction.query(
            f"SELECT {PRESENCE_SQL} AS presence, count(*) FROM devices GROUP BY presence",
            (silent_before(now_ms),),
        )
    }
    served = transaction.query_one("SELECT served_ms FROM fleet")
    return {
        "time_ms": now_ms,
        "served_ms": 0 if served is None else served[0],
        "presence": {state: counts.get(state, 0) for state in PRESENCES},
        "status": fleet_status(transaction, now_ms),
        "current": [_details(transaction, now_ms, rollout) for rollout in current_rollouts(transaction)],
        "audit": _newest_audit(transaction),
    }


def find_devices(transaction: Transaction, now_ms: int, search: str, offset: int) -> dict[str, Any]:
    """Return at most ``PAGE_DEVICES`` of the devices that have each word of ``search`` in their name, board, core,
    group, release or state, from number ``offset`` on."""
    # The characters that LIKE replaces by others are not special here.
    words = [
        word.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
        for word in search.split()[:_MAX_WORDS]
    ]
    any_column = " OR ".join(f"lower({column}) LIKE ? ESCAPE '!'" for column in _SEARCHED)
    condition = " AND ".join(f"({any_column})" for _ in words) or "1 = 1"
    table = f"(SELECT {', '.join(_COLUMNS.values())}, {PRESENCE_SQL} AS presence FROM devices) d"
    parameters = [silent_before(now_ms), *(f"%{word}%" for word in words for _ in _SEARCHED)]
    total = transaction.value(f"SELECT count(*) FROM {table} WHERE {condition}", parameters)
    rows = transaction.query(
        f"SELECT {', '.join(_COLUMNS.values())}, presence FROM {table} WHERE {condition}"
        " ORDER BY device LIMIT ? OFFSET ?",
        [*parameters, PAGE_DEVICES, offset],
    )
    return {
        "time_ms": now_ms,
        "total": int(total),
        "offset": offset,
        "devices": [dict(zip((*_COLUMNS, "state"), row, strict=True)) for row in rows],
    }


def _details(transaction: Transaction, now_ms: int, rollout: Rollout) -> dict[str, Any]:
    """Return a rollout with its waves, and with its gates unless it has ended."""
    has_gates = rollout.state in ("running", "paused")
    gates = gate_results(transaction, now_ms, rollout) if has_gates else []
    return {
        **rollout_summary(transaction, rollout),
        "wave_list": [wave.to_json() for wave in waves_of(transaction, rollout)],
        "gates": [gate.to_json() for gate in gates],
    }


def _newest_audit(transaction: Transaction) -> list[dict[str, Any]]:
    rows = transaction.query(
        "SELECT time_ms, actor, rollout, action, details FROM audit ORDER BY id DESC LIMIT ?",
        (_AUDIT_ENTRIES,),
    )
    return [
        {
            "time_ms": time_ms,
            "actor": actor,
            "rollout": rollout,
            "action": action,
            "text": audit_sentence(action, json.loads(details)),
        }
        for time_ms, actor, rollout, action, details in rows
    ]
