"""The audit table: every decision, in the transaction that carries it out."""

from __future__ import annotations

import json
from typing import Any

from arenite.host.fleet.database import Transaction

#: The rollout of entries that belong to none.
NO_ROLLOUT = 0


def write_audit(
    transaction: Transaction, time_ms: int, actor: str, rollout: int, action: str, **details: Any
) -> None:
    """Add an entry. ``actor`` is ``engine`` for the server's own decisions, or the name of a user."""
    transaction.execute(
        "INSERT INTO audit (time_ms, actor, rollout, action, details) VALUES (?, ?, ?, ?, ?)",
        (time_ms, actor, rollout, action, json.dumps(details, sort_keys=True)),
    )


def read_audit(transaction: Transaction, rollout: int) -> list[dict[str, Any]]:
    """Return the entries of a rollout, the oldest first."""
    rows = transaction.query(
        "SELECT time_ms, actor, action, details FROM audit WHERE rollout = ? ORDER BY id", (rollout,)
    )
    return [
        {"time_ms": time_ms, "actor": actor, "action": action, "details": json.loads(details)}
        for time_ms, actor, action, details in rows
    ]
