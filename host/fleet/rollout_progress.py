"""What devices report about the release that a rollout gave them.

States of a device in a rollout: ``chosen`` until it has installed the release (``installed``) or has failed to
(``failed``); during a roll back, ``returning`` until it has confirmed its previous release (``returned``), or has
failed to return (``stuck``).
"""

from __future__ import annotations

from arenite.host.fleet.audit import write_audit
from arenite.host.fleet.database import Transaction


def report_outcome(
    transaction: Transaction,
    now_ms: int,
    device: str,
    generation: int,
    *,
    outcome: str,
    reason: str,
    golden_failures: int,
) -> None:
    """Note the outcome of an installation. Outcomes of other generations than that of the rollout are too late."""
    is_good = outcome in ("installed", "unchanged")
    for rollout, state in transaction.query(
        "SELECT rollout, state FROM rollout_devices WHERE device = ? AND generation = ?"
        " AND (state = 'chosen' OR state = 'returning')",
        (device, generation),
    ):
        if state == "chosen":
            new_state = "installed" if is_good else "failed"
        else:
            new_state = "returned" if is_good else "stuck"
        transaction.execute(
            "UPDATE rollout_devices SET state = ?, reason = ?, golden_failures = golden_failures + ?"
            " WHERE rollout = ? AND device = ?",
            (new_state, reason if not is_good else "", golden_failures, rollout, device),
        )
        if not is_good:
            write_audit(
                transaction,
                now_ms,
                "engine",
                rollout,
                "device_" + new_state,
                device=device,
                outcome=outcome,
                reason=reason,
                golden_failures=golden_failures,
            )


def report_running(transaction: Transaction, device: str, generation: int, release: str) -> None:
    """Note that a device runs a release. It may have dropped the event with the outcome, because its store was
    full."""
    transaction.execute(
        "UPDATE rollout_devices SET state = 'installed' WHERE device = ? AND generation = ? AND state = 'chosen'"
        " AND rollout IN (SELECT id FROM rollouts WHERE release = ?)",
        (device, generation, release),
    )
    transaction.execute(
        "UPDATE rollout_devices SET state = 'returned' WHERE device = ? AND generation = ? AND state = 'returning'"
        " AND previous_release = ?",
        (device, generation, release),
    )
