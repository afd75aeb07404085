"""``arenite fleet rollout show``: a rollout in words and tables."""

from __future__ import annotations

from typing import Any

import click

from arenite.host.cli.fleet_options import database_option, existing_database, json_option, time_text
from arenite.host.fleet.audit_words import audit_sentence
from arenite.host.fleet.clock import SystemClock
from arenite.host.fleet.fleet_status import rollout_status
from arenite.host.fleet.rollout import load_rollout
from arenite.host.fleet.rollout_waves import Wave, waves_of
from arenite.host.report.console import print_json, show, table

_STATES = {
    "running": "is running",
    "paused": "is paused: no further device gets the release, but the gates still hold",
    "rolling_back": "is rolling back: its devices return to their previous releases",
    "rolled_back": "was rolled back",
    "done": "is done",
}


@click.command("show")
@click.argument("number", type=int)
@database_option
@json_option
def show_rollout(number: int, url: str, as_json: bool) -> int:
    """Show rollout NUMBER: its waves, its gates, and its audit."""
    database = existing_database(url)
    with database.reading() as transaction:
        facts = rollout_status(transaction, SystemClock().now_ms(), number)
        waves = waves_of(transaction, load_rollout(transaction, number))
    if as_json:
        print_json(facts)
        return 0
    show(
        f"Rollout {number} of {facts['release']} to the group {facts['group']} {_STATES[facts['state']]}.",
        f"It started at {time_text(facts['created_ms'])} UTC, and is in wave {facts['wave'] + 1} of {facts['waves']}."
        f" Its devices: {_devices(facts['devices'])}.",
    )
    if facts["reason"]:
        show(f"Reason: {facts['reason']}")
    columns = ("wave", "reaches", "state", "devices", "installed", "failed", "other devices")
    show(table("waves", columns, [_wave_row(k, wave) for k, wave in enumerate(waves)]))
    if facts["gates"]:
        gate_rows = [
            (g["board"], g["gate"], _figure(g["value"]), _figure(g["limit"]), _verdict(g))
            for g in facts["gates"]
        ]
        show(table("gates", ("board", "gate", "value", "limit", "verdict"), gate_rows))
    audit_rows = [
        (time_text(entry["time_ms"]), entry["actor"], audit_sentence(entry["action"], entry["details"]))
        for entry in facts["audit"]
    ]
    show(table("audit (times in UTC)", ("time", "who", "what"), audit_rows))
    return 0


def _devices(states: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {state}" for state, count in states.items()) or "none yet"


def _wave_row(number: int, wave: Wave) -> tuple[object, ...]:
    devices = wave.devices
    others = {
        state: count for state, count in sorted(devices.items()) if state not in ("installed", "failed")
    }
    counts = (f"{devices.total():,}", f"{devices['installed']:,}", f"{devices['failed']:,}")
    return (number + 1, f"{wave.share / 10:g} %", wave.state, *counts, _devices(others) if others else "-")


def _verdict(gate: dict[str, Any]) -> str:
    if gate["violated"]:
        return "violated"
    return "holds" if gate["enough"] else "too little data"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
