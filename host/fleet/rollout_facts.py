"""Collect from the registry what the gates of a rollout look at."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from arenite.host.fleet.cohorts import read_cohorts
from arenite.host.fleet.database import Transaction
from arenite.host.fleet.gates import BoardFacts
from arenite.host.fleet.registry import SERVING_GAP_MS
from arenite.host.fleet.rollout import Rollout

#: The other releases are compared from this time before the rollout on.
BASELINE_MS = 24 * 3600 * 1000


@dataclass(slots=True)
class WaveProgress:
    """Numbers of devices of the present wave: those that were chosen, those of them that have been seen around or
    since then, and those that have installed the release or failed to."""

    chosen: int = 0
    reachable: int = 0
    finished: int = 0
    #: The boards of reachable devices.
    boards: set[str] = field(default_factory=set)


def collect_facts(
    transaction: Transaction, now_ms: int, rollout: Rollout
) -> tuple[dict[str, BoardFacts], WaveProgress]:
    """Return the facts of each kind of board that the rollout has reached, and the progress of its wave."""
    settings = rollout.settings
    facts: dict[str, BoardFacts] = {}
    previous_releases: dict[str, str] = {}
    progress = WaveProgress()
    served_ms, serving_since_ms = transaction.query("SELECT served_ms, serving_since_ms FROM fleet")[0]
    silent_before = now_ms - 1000 * settings.silence_s
    # While no server is connected to the broker, no device can be heard.
    can_be_silent = served_ms >= now_ms - SERVING_GAP_MS and serving_since_ms < silent_before
    for board, wave, state, was_seen, chosen_ms, golden_failures, previous, seen_ms in transaction.query(
        "SELECT c.board, c.wave, c.state, c.was_seen, c.chosen_ms, c.golden_failures, c.previous_release, d.seen_ms"
        " FROM rollout_devices c, devices d WHERE c.device = d.device AND c.rollout = ?",
        (rollout.id,),
    ):
        board_facts = facts.setdefault(board, BoardFacts(board))
        previous_releases[board] = previous
        board_facts.chosen += 1
        board_facts.installed += state == "installed"
        board_facts.failed += state == "failed"
        board_facts.golden_failures += golden_failures
        if was_seen:
            board_facts.seen += 1
            board_facts.silent += can_be_silent and max(seen_ms, chosen_ms) < silent_before
        if wave == rollout.wave:
            progress.chosen += 1
            if was_seen or seen_ms > chosen_ms:
                progress.reachable += 1
                progress.boards.add(board)
                progress.finished += state in ("installed", "failed")
    _add_others(transaction, rollout, facts, silent_before if can_be_silent else 0)
    new = read_cohorts(transaction, rollout.group, rollout.created_ms, release=rollout.release)
    other = read_cohorts(
        transaction, rollout.group, rollout.created_ms - BASELINE_MS, other_than=rollout.release
    )
    for board, board_facts in facts.items():
        board_facts.new = new.get(board, board_facts.new)
        board_facts.other = other.get(board, board_facts.other)
        board_facts.reference = _reference(transaction, rollout.release, board)
        board_facts.other_reference = _reference(transaction, previous_releases[board], board)
    return facts, progress


def _add_others(
    transaction: Transaction, rollout: Rollout, facts: dict[str, BoardFacts], silent_before: int
) -> None:
    for board, count, silent in transaction.query(
        "SELECT board, count(*), sum(CASE WHEN seen_ms < ? THEN 1 ELSE 0 END) FROM devices"
        " WHERE group_name = ? AND seen_ms >= ? AND NOT EXISTS (SELECT 1 FROM rollout_devices"
        " WHERE rollout_devices.device = devices.device AND rollout = ?) GROUP BY board",
        (
            silent_before,
            rollout.group,
            rollout.wave_started_ms - 1000 * rollout.settings.seen_s,
            rollout.id,
        ),
    ):
        if board in facts:
            facts[board].others, facts[board].others_silent = int(count), int(silent)


def _reference(transaction: Transaction, release: str, board: str) -> dict[str, Any] | None:
    row = transaction.query_one(
        "SELECT reference FROM release_images WHERE release = ? AND board = ?", (release, board)
    )
    reference: dict[str, Any] | None = None if row is None else json.loads(row[0])
    return reference
