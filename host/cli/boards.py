"""``arenite boards``: what is known about each board."""

from __future__ import annotations

import click

from arenite.host.cli.output import print_json, show, table
from arenite.profiles.boards import Board, all_boards


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def boards(as_json: bool) -> int:
    """List the known boards: core, clock, flash and SRAM; emulated ones first."""
    known = sorted(all_boards(), key=lambda b: (not b.emulated, b.name))
    if as_json:
        print_json({"schema": "arenite.boards/1", "boards": [_entry(b) for b in known]})
        return 0
    rows = [
        (b.name, b.title, b.mcu, b.core, f"{b.clock_hz / 1e6:g}", f"{b.flash_bytes:,}", f"{b.ram_bytes:,}")
        for b in known
    ]
    show(table(f"{len(known)} boards", ("board", "title", "MCU", "core", "MHz", "flash B", "SRAM B"), rows))
    return 0


def _entry(b: Board) -> dict:
    return {
        "name": b.name,
        "title": b.title,
        "mcu": b.mcu,
        "core": b.core,
        "clock_hz": b.clock_hz,
        "emulated": b.emulated,
        "features": sorted(b.features),
        "flash": [{"name": r.name, "origin": r.origin, "size": r.size} for r in b.flash],
        "ram": [{"name": r.name, "origin": r.origin, "size": r.size, "kind": r.kind} for r in b.ram],
        "sources": dict(b.sources),
    }
