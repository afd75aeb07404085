"""The waves of a rollout: how many devices each of them has, and in which state they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

from arenite.host.fleet.database import Transaction
from arenite.host.fleet.rollout import Rollout, list_rollouts, load_rollout

#: ``passed``: its gates held. ``running``: it is the present wave of a rollout that runs or is paused. ``stopped``: the
#: rollout was rolled back in it. ``waiting``: it has not begun, or never will.
WaveState = Literal["passed", "running", "stopped", "waiting"]


@dataclass(frozen=True, slots=True)
class Wave:
    """``share`` of the group's devices have been chosen after the wave, in thousandths. ``devices`` are those that it
    chose, by state (``rollout_progress.py``)."""

    share: int
    state: WaveState
    devices: Counter[str]

    def to_json(self) -> dict[str, Any]:
        return {"share": self.share, "state": self.state, "devices": dict(sorted(self.devices.items()))}


def waves_of(transaction: Transaction, rollout: Rollout) -> list[Wave]:
    """Return all waves of a rollout."""
    devices: dict[int, Counter[str]] = {}
    for wave, state, count in transaction.query(
        "SELECT wave, state, count(*) FROM rollout_devices WHERE rollout = ? GROUP BY wave, state",
        (rollout.id,),
    ):
        devices.setdefault(wave, Counter())[state] = int(count)
    return [
        Wave(share, _state(rollout, k), devices.get(k, Counter()))
        for k, share in enumerate(rollout.settings.waves)
    ]


def current_rollouts(transaction: Transaction) -> list[Rollout]:
    """Return the rollouts that have not ended, or if there is none the newest one."""
    numbers = transaction.query(
        "SELECT id FROM rollouts WHERE state = 'running' OR state = 'paused' OR state = 'rolling_back'"
        " ORDER BY id DESC"
    )
    return [load_rollout(transaction, number) for (number,) in numbers] or list_rollouts(transaction, 1)


def _state(rollout: Rollout, wave: int) -> WaveState:
    if wave < rollout.wave or (wave == rollout.wave and rollout.state == "done"):
        return "passed"
    if wave > rollout.wave:
        return "waiting"
    return "running" if rollout.state in ("running", "paused") else "stopped"
