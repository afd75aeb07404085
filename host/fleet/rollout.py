"""Rollouts: start, pause, resume and abort them, and read their state.

States: ``running``; ``paused``, in which no further device is chosen, but the gates still hold; ``rolling_back``
until every device that was chosen has returned to its previous release; and the ends ``done`` and ``rolled_back``.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from arenite.errors import UsageError
from arenite.host.fleet.audit import write_audit
from arenite.host.fleet.database import Transaction
from arenite.host.fleet.messages import DesiredRelease
from arenite.host.fleet.rollout_settings import RolloutSettings, settings_from_json

#: The states of a rollout.
STATES = ("running", "paused", "rolling_back", "done", "rolled_back")
#: A message for a device: its name, and the release that it should run.
Push = tuple[str, DesiredRelease]

_COLUMNS = (
    "id, release, group_name, state, wave, created_ms, wave_started_ms, soak_started_ms, settings, reason"
)


@dataclass(frozen=True, slots=True)
class Rollout:
    id: int
    release: str
    group: str
    state: str
    wave: int
    created_ms: int
    wave_started_ms: int
    soak_started_ms: int  # 0 until most devices of the wave have installed the release
    settings: RolloutSettings
    reason: str

    @property
    def is_last_wave(self) -> bool:
        return self.wave == len(self.settings.waves) - 1


def start_rollout(
    transaction: Transaction,
    now_ms: int,
    actor: str,
    release: str,
    group: str,
    settings: RolloutSettings,
    *,
    while_rolling_back: bool = False,
) -> int:
    """Start a rollout and return its number. The engine chooses devices later. With ``while_rolling_back``, devices
    that an earlier rollout still returns go to the new release instead. Raises ``UsageError`` if there is no such
    release or group, if no device of the group has a board of the release, or if the group has a rollout that has not
    ended."""
    if transaction.query_one("SELECT release FROM releases WHERE release = ?", (release,)) is None:
        known = [
            row[0]
            for row in transaction.query("SELECT release FROM releases ORDER BY created_ms DESC LIMIT 5")
        ]
        raise UsageError(
            f"There is no release '{release}'.",
            f"The newest are {', '.join(known)}." if known else "Add one with `arenite fleet rollout add`.",
        )
    if transaction.query_one("SELECT device FROM devices WHERE group_name = ? LIMIT 1", (group,)) is None:
        raise UsageError(
            f"There is no device in the group '{group}'.", "`arenite fleet status` lists the groups."
        )
    images = {
        row[0] for row in transaction.query("SELECT board FROM release_images WHERE release = ?", (release,))
    }
    boards = {
        row[0]
        for row in transaction.query("SELECT DISTINCT board FROM devices WHERE group_name = ?", (group,))
    }
    if not images & boards:
        raise UsageError(
            f"The release {release} has images for {', '.join(sorted(images))}, but no device of the group '{group}'"
            f" has such a board. Their boards: {', '.join(sorted(filter(None, boards))) or 'not told yet'}.",
            "Add a release with images for these boards, under another name.",
        )
    active = transaction.query_one(
        "SELECT id, release, state FROM rollouts WHERE group_name = ? AND (state = 'running' OR state = 'paused')",
        (group,),
    )
    if active is not None:
        raise UsageError(
            f"The group '{group}' has the rollout {active[0]} of {active[1]}, which is {active[2]}.",
            f"Wait for its end, or stop it: `arenite fleet rollout abort {active[0]}`.",
        )
    if not while_rolling_back:
        _require_no_roll_back(transaction, group)
    rollout: int = transaction.value(
        "INSERT INTO rollouts (release, group_name, state, wave, created_ms, wave_started_ms, soak_started_ms,"
        " settings, reason) VALUES (?, ?, 'running', 0, ?, ?, 0, ?, '') RETURNING id",
        (release, group, now_ms, now_ms, json.dumps(settings.to_json())),
    )
    write_audit(
        transaction,
        now_ms,
        actor,
        rollout,
        "start",
        release=release,
        group=group,
        settings=settings.to_json(),
    )
    return rollout


def pause_rollout(transaction: Transaction, now_ms: int, actor: str, rollout: int, reason: str) -> None:
    """Raises ``UsageError`` unless the rollout is running."""
    _require(load_rollout(transaction, rollout), "paused", ("running",))
    set_state(transaction, now_ms, actor, rollout, "paused", reason)


def resume_rollout(transaction: Transaction, now_ms: int, actor: str, rollout: int) -> None:
    """Go on with a rollout that is paused. The time of the wave begins anew. Raises ``UsageError`` if it is not
    paused."""
    _require(load_rollout(transaction, rollout), "resumed", ("paused",))
    transaction.execute("UPDATE rollouts SET wave_started_ms = ? WHERE id = ?", (now_ms, rollout))
    set_state(transaction, now_ms, actor, rollout, "running", "")


def abort_rollout(transaction: Transaction, now_ms: int, actor: str, rollout: int) -> list[Push]:
    """Roll back every device that the rollout chose. Raises ``UsageError`` if the rollout has ended or rolls back
    already."""
    loaded = load_rollout(transaction, rollout)
    _require(loaded, "aborted", ("running", "paused"))
    return roll_back(transaction, now_ms, actor, loaded, f"aborted by {actor}", {})


def load_rollout(transaction: Transaction, rollout: int) -> Rollout:
    """Return a rollout, which no other transaction may change meanwhile. Raises ``UsageError`` if there is none."""
    row = transaction.query_one(
        f"SELECT {_COLUMNS} FROM rollouts WHERE id = ?" + transaction.row_lock, (rollout,)
    )
    if row is None:
        raise UsageError(f"There is no rollout {rollout}.", "`arenite fleet status` lists them.")
    return _rollout(row)


def list_rollouts(transaction: Transaction, limit: int = 20) -> list[Rollout]:
    """Return the newest rollouts, the newest first."""
    rows = transaction.query(f"SELECT {_COLUMNS} FROM rollouts ORDER BY id DESC LIMIT ?", (limit,))
    return [_rollout(row) for row in rows]


def device_states(transaction: Transaction, rollout: int) -> Counter[str]:
    """Return the number of devices in each state."""
    rows = transaction.query(
        "SELECT state, count(*) FROM rollout_devices WHERE rollout = ? GROUP BY state", (rollout,)
    )
    return Counter({state: int(count) for state, count in rows})


def set_state(
    transaction: Transaction, now_ms: int, actor: str, rollout: int, state: str, reason: str, **details: Any
) -> None:
    transaction.execute("UPDATE rollouts SET state = ?, reason = ? WHERE id = ?", (state, reason, rollout))
    write_audit(transaction, now_ms, actor, rollout, state, reason=reason, **details)


def roll_back(
    transaction: Transaction, now_ms: int, actor: str, rollout: Rollout, reason: str, details: dict[str, Any]
) -> list[Push]:
    """Give every device that the rollout chose its previous release."""
    pushes = []
    devices = transaction.query(
        "SELECT device, previous_release, previous_image, previous_firmware, previous_model FROM rollout_devices"
        " WHERE rollout = ?"
        " AND (state = 'chosen' OR state = 'installed' OR state = 'failed') ORDER BY device",
        (rollout.id,),
    )
    for device, release, *images in devices:
        desired = set_desired(transaction, device, release, *images)
        transaction.execute(
            "UPDATE rollout_devices SET state = 'returning', generation = ? WHERE rollout = ? AND device = ?",
            (desired.generation, rollout.id, device),
        )
        pushes.append((device, desired))
    set_state(transaction, now_ms, actor, rollout.id, "rolling_back", reason, devices=len(pushes), **details)
    return pushes


def set_desired(
    transaction: Transaction, device: str, release: str, image: str, firmware: str, model: str
) -> DesiredRelease:
    """Give a device a release, under a new generation. The hashes are those of ``DesiredRelease``."""
    # A database that was restored from a copy may know an older generation than the device.
    generation: int = transaction.value(
        "UPDATE devices SET desired_release = ?, desired_image = ?, desired_firmware = ?, desired_model = ?,"
        " desired_generation ="
        " CASE WHEN generation > desired_generation THEN generation ELSE desired_generation END + 1"
        " WHERE device = ? RETURNING desired_generation",
        (release, image, firmware, model, device),
    )
    return DesiredRelease(generation, release, image, firmware, model)


def _rollout(row: tuple[Any, ...]) -> Rollout:
    number, release, group, state, wave, created_ms, wave_started_ms, soak_started_ms, settings, reason = row
    return Rollout(
        number,
        release,
        group,
        state,
        wave,
        created_ms,
        wave_started_ms,
        soak_started_ms,
        settings_from_json(json.loads(settings)),
        reason,
    )


def _require_no_roll_back(transaction: Transaction, group: str) -> None:
    """Raise ``UsageError`` if a rollout of the group is rolling back."""
    row = transaction.query_one(
        "SELECT id, release FROM rollouts WHERE group_name = ? AND state = 'rolling_back' ORDER BY id DESC LIMIT 1",
        (group,),
    )
    if row is None:
        return
    waiting = device_states(transaction, row[0])["returning"]
    raise UsageError(
        f"The group '{group}' has the rollout {row[0]} of {row[1]}, which is rolling back: {waiting}"
        f" {'device has' if waiting == 1 else 'devices have'} not returned yet.",
        "Wait for its end. If they will not come back, add --while-rolling-back: they then go to the new release.",
    )


def _require(rollout: Rollout, verb: str, states: tuple[str, ...]) -> None:
    if rollout.state not in states:
        raise UsageError(
            f"Rollout {rollout.id} is {rollout.state}, so it cannot be {verb}.",
            f"Only one that is {' or '.join(states)} can.",
        )
