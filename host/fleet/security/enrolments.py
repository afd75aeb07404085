"""Enrolment codes and certificates of devices in the database."""

from __future__ import annotations

from datetime import UTC, datetime

from arenite.errors import UsageError
from arenite.host.fleet.audit import NO_ROLLOUT, write_audit
from arenite.host.fleet.database import Transaction
from arenite.host.fleet.registry import DEFAULT_GROUP, register_device
from arenite.host.fleet.security.enrolment_code import hash_of_secret
from arenite.host.fleet.topics import check_name

#: The name of the server in the audit.
_SERVER = "enrolment"


def add_code(
    transaction: Transaction,
    now_ms: int,
    actor: str,
    device: str,
    group: str | None,
    secret: str,
    valid_s: int,
) -> str:
    """Permit the owner of ``secret`` to join as ``device``, once within ``valid_s`` seconds. Return the device's group.
    Earlier codes of the device become invalid. Raises ``UsageError`` if the device is in another group than
    ``group``."""
    check_name("device", device)
    if group is not None:
        check_name("group", group)
    row = transaction.query_one("SELECT group_name FROM devices WHERE device = ?", (device,))
    if row is not None and group not in (None, row[0]):
        raise UsageError(
            f"The device '{device}' is in the group {row[0]}.",
            f"Leave --group out, or run `arenite fleet group {device} {group}` first.",
        )
    chosen: str = row[0] if row is not None else group or DEFAULT_GROUP
    transaction.execute("DELETE FROM enrolments WHERE device = ? AND used_ms = 0", (device,))
    expires_ms = now_ms + 1000 * valid_s
    transaction.execute(
        "INSERT INTO enrolments (code_hash, device, group_name, expires_ms, used_ms) VALUES (?, ?, ?, ?, 0)",
        (hash_of_secret(secret), device, chosen, expires_ms),
    )
    write_audit(
        transaction, now_ms, actor, NO_ROLLOUT, "enrol", device=device, group=chosen, expires_ms=expires_ms
    )
    return chosen


def use_code(transaction: Transaction, now_ms: int, secret: str) -> str | None:
    """Use a code up, register its device, and return the name of the device. Return None for a code that is unknown,
    used or expired."""
    rows = transaction.query(
        "UPDATE enrolments SET used_ms = ? WHERE code_hash = ? AND used_ms = 0 AND expires_ms > ?"
        " RETURNING device, group_name",
        (now_ms, hash_of_secret(secret), now_ms),
    )
    if not rows:
        return None
    device: str = rows[0][0]
    register_device(transaction, now_ms, device, rows[0][1], seen_ms=0)
    return device


def note_certificate(
    transaction: Transaction, now_ms: int, device: str, serial: int, end: datetime, network: str
) -> None:
    """Note a certificate that a device at the address ``network`` gets."""
    expires_ms = int(end.timestamp() * 1000)
    transaction.execute(
        "INSERT INTO certificates (serial, device, expires_ms, revoked_ms) VALUES (?, ?, ?, 0)",
        (f"{serial:x}", device, expires_ms),
    )
    write_audit(
        transaction, now_ms, _SERVER, NO_ROLLOUT, "join", device=device, serial=f"{serial:x}", address=network
    )


def revoke_device(transaction: Transaction, now_ms: int, actor: str, device: str) -> tuple[int, int]:
    """Revoke all certificates of a device, and its codes. Return the numbers of certificates and of unused codes.
    Raises ``UsageError`` if the device has none."""
    count = transaction.execute(
        "UPDATE certificates SET revoked_ms = ? WHERE device = ? AND revoked_ms = 0", (now_ms, device)
    )
    codes = transaction.execute("DELETE FROM enrolments WHERE device = ? AND used_ms = 0", (device,))
    if not count and not codes:
        raise UsageError(
            f"The device '{device}' has no certificate or code that is valid.",
            "`arenite fleet status --devices` lists all devices that have joined.",
        )
    write_audit(
        transaction, now_ms, actor, NO_ROLLOUT, "revoke", device=device, certificates=count, codes=codes
    )
    return count, codes


def revoked_certificates(transaction: Transaction, now_ms: int) -> list[tuple[int, datetime]]:
    """Return the serial number and the time of each revoked certificate that has not ended by itself."""
    return [
        (int(serial, 16), datetime.fromtimestamp(revoked_ms / 1000, UTC))
        for serial, revoked_ms in transaction.query(
            "SELECT serial, revoked_ms FROM certificates WHERE revoked_ms > 0 AND expires_ms > ? ORDER BY revoked_ms",
            (now_ms,),
        )
    ]
