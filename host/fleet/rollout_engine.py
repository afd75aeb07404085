"""The engine of rollouts: it chooses devices, checks gates, and halts and rolls back.

The engine has no state of its own. Each step reads the registry, decides, and writes the decision with its reasons in
one transaction, which locks the rollout. Any number of servers may run it, and each may be killed at any moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from arenite.host.fleet.audit import write_audit
from arenite.host.fleet.clock import Clock
from arenite.host.fleet.database import Database, Transaction
from arenite.host.fleet.gates import GateResult, check_gates
from arenite.host.fleet.rollout import (
    Push,
    Rollout,
    load_rollout,
    roll_back,
    set_desired,
    set_state,
)
from arenite.host.fleet.rollout_facts import WaveProgress, collect_facts
from arenite.host.fleet.wave_choice import choose, wave_size

ENGINE = "engine"


def advance_rollouts(database: Database, clock: Clock) -> list[Push]:
    """Take one step with each rollout that has not ended. Return what to tell devices at once; each device also
    learns it from its next acknowledgement. Raises ``DatabaseError``."""
    with database.transaction() as transaction:
        rollouts = [
            row[0]
            for row in transaction.query(
                "SELECT id FROM rollouts WHERE state = 'running' OR state = 'paused' OR state = 'rolling_back'"
                " ORDER BY id"
            )
        ]
    pushes: list[Push] = []
    for rollout in rollouts:
        with database.transaction() as transaction:
            own_pushes = advance(transaction, clock.now_ms(), load_rollout(transaction, rollout))
        pushes += own_pushes
    return pushes


def advance(transaction: Transaction, now_ms: int, rollout: Rollout) -> list[Push]:
    """Take one step with a rollout."""
    if rollout.state == "rolling_back":
        _finish_roll_back(transaction, now_ms, rollout)
        return []
    if rollout.state not in ("running", "paused"):
        return []
    facts, progress = collect_facts(transaction, now_ms, rollout)
    results = [result for board in sorted(facts) for result in check_gates(facts[board], rollout.settings)]
    violated = [result for result in results if result.is_violated]
    if violated:
        return roll_back(
            transaction,
            now_ms,
            ENGINE,
            rollout,
            "; ".join(_sentence(result) for result in violated[:5]),
            {"gates": [result.to_json() for result in violated], "wave": rollout.wave},
        )
    if rollout.state == "paused":
        return []
    is_wave_empty = False
    if progress.chosen == 0 or rollout.is_last_wave:
        pushes, is_wave_empty = _choose_devices(transaction, now_ms, rollout)
        if pushes:
            return pushes
    # A wave is empty if earlier waves have reached its share already, as in a group of five devices.
    _judge_wave(transaction, now_ms, rollout, results, progress, is_wave_empty and progress.chosen == 0)
    return []


def _choose_devices(transaction: Transaction, now_ms: int, rollout: Rollout) -> tuple[list[Push], bool]:
    """Choose the devices of the present wave. Return what to tell them, and whether the wave has no further
    devices."""
    settings = rollout.settings
    candidates = transaction.query(
        "SELECT d.device, d.board, d.seen_ms, d.release, d.firmware, d.model, i.image, i.firmware, i.model"
        " FROM devices d, release_images i WHERE i.release = ? AND i.board = d.board AND d.group_name = ?"
        " AND d.release <> '' AND d.release <> ? AND d.firmware <> ''"
        " AND NOT EXISTS (SELECT 1 FROM rollout_devices c WHERE c.device = d.device AND c.rollout = ?)"
        " ORDER BY d.device",
        (rollout.release, rollout.group, rollout.release, rollout.id),
    )
    chosen = Counter(
        {
            board: int(count)
            for board, count in transaction.query(
                "SELECT board, count(*) FROM rollout_devices WHERE rollout = ? GROUP BY board", (rollout.id,)
            )
        }
    )
    size = wave_size(len(candidates) + chosen.total(), settings.waves[rollout.wave]) - chosen.total()
    seen_after = now_ms - 1000 * settings.seen_s
    eligible = [row for row in candidates if rollout.is_last_wave or row[2] >= seen_after]
    rows = {row[0]: row for row in eligible}
    devices = choose(
        ((row[0], row[1]) for row in eligible), chosen, max(size, 0), f"{rollout.id}/{rollout.release}"
    )
    pushes = [_give(transaction, now_ms, rollout, rows[device], seen_after) for device in devices]
    if pushes:
        boards = Counter(rows[device][1] for device in devices)
        write_audit(
            transaction,
            now_ms,
            ENGINE,
            rollout.id,
            "choose",
            wave=rollout.wave,
            devices=len(devices),
            boards=boards,
        )
    return pushes, size <= 0


def _give(
    transaction: Transaction, now_ms: int, rollout: Rollout, row: Sequence[Any], seen_after: int
) -> Push:
    """Give a device the new release, and remember its previous one."""
    device, board, seen_ms, release, firmware, model, *images = row
    previous = _previous_images(transaction, release, board, (firmware, model), is_pair=bool(images[1]))
    # A device that is still returning from an earlier rollout goes to the new release instead.
    transaction.execute(
        "UPDATE rollout_devices SET state = 'returned' WHERE device = ? AND state = 'returning'", (device,)
    )
    desired = set_desired(transaction, device, rollout.release, *images)
    transaction.execute(
        "INSERT INTO rollout_devices (rollout, device, board, wave, state, was_seen, chosen_ms, generation,"
        " previous_release, previous_image, previous_firmware, previous_model, golden_failures, reason)"
        " VALUES (?, ?, ?, ?, 'chosen', ?, ?, ?, ?, ?, ?, ?, 0, '')",
        (
            rollout.id,
            device,
            board,
            rollout.wave,
            int(seen_ms >= seen_after),
            now_ms,
            desired.generation,
            release,
            *previous,
        ),
    )
    return device, desired


def _previous_images(
    transaction: Transaction, release: str, board: str, running: tuple[str, str], *, is_pair: bool
) -> tuple[str, str, str]:
    """Return the hashes ``image``, ``firmware`` and ``model`` with which a device returns to ``release``. ``running``:
    what it reports of its firmware and its model. ``is_pair``: both change with the new release."""
    known = transaction.query_one(
        "SELECT image, firmware, model FROM release_images WHERE release = ? AND board = ?", (release, board)
    )
    if known is not None and (known[1] or not is_pair):
        return known[0], known[1], known[2]
    # The registry does not know what the release that the device was shipped with has, or knows one image of two. The
    # device reports both. Devices of one program report the same hash twice.
    firmware, model = running
    pair = running if model and model != firmware else ("", "")
    return firmware if known is None else known[0], pair[0], pair[1]


def _judge_wave(
    transaction: Transaction,
    now_ms: int,
    rollout: Rollout,
    results: list[GateResult],
    progress: WaveProgress,
    is_wave_empty: bool,
) -> None:
    """End the wave if it has proved itself, or pause the rollout if it takes too long."""
    settings = rollout.settings
    is_complete = is_wave_empty or (
        progress.reachable > 0 and progress.finished >= settings.completion * progress.reachable
    )
    soak_started_ms = rollout.soak_started_ms
    if is_complete and not soak_started_ms:
        soak_started_ms = now_ms
        transaction.execute("UPDATE rollouts SET soak_started_ms = ? WHERE id = ?", (now_ms, rollout.id))
        write_audit(transaction, now_ms, ENGINE, rollout.id, "installed", wave=rollout.wave)
    missing = [result for result in results if result.board in progress.boards and not result.has_enough]
    has_soaked = is_wave_empty or now_ms - soak_started_ms >= 1000 * settings.soak_s
    if is_complete and has_soaked and not missing:
        gates = [result.to_json() for result in results]
        if rollout.is_last_wave:
            set_state(transaction, now_ms, ENGINE, rollout.id, "done", "", gates=gates)
            return
        transaction.execute(
            "UPDATE rollouts SET wave = wave + 1, wave_started_ms = ?, soak_started_ms = 0 WHERE id = ?",
            (now_ms, rollout.id),
        )
        write_audit(transaction, now_ms, ENGINE, rollout.id, "pass", wave=rollout.wave, gates=gates)
    elif now_ms - rollout.wave_started_ms > 1000 * settings.max_wave_s:
        if is_complete:
            reason = "there is too little data for: " + ", ".join(
                f"{r.gate} on {r.board}" for r in missing[:5]
            )
        else:
            reason = f"{progress.finished} of {progress.reachable} devices of the wave have finished"
        set_state(transaction, now_ms, ENGINE, rollout.id, "paused", f"the wave takes too long: {reason}")


def _finish_roll_back(transaction: Transaction, now_ms: int, rollout: Rollout) -> None:
    open_devices: int = transaction.value(
        "SELECT count(*) FROM rollout_devices WHERE rollout = ? AND state = 'returning'", (rollout.id,)
    )
    if open_devices == 0:
        set_state(transaction, now_ms, ENGINE, rollout.id, "rolled_back", rollout.reason)


def _sentence(result: GateResult) -> str:
    value = "no value" if result.value is None else f"{result.value:.4g}"
    return f"{result.gate} on {result.board} is {value}, above {result.limit:.4g}"
