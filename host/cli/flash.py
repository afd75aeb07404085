"""``arenite flash``: put a built project on its board."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.host.cli.output import note, print_json, show
from arenite.host.flash.build import read_manifest
from arenite.host.flash.flash import UPLOADERS
from arenite.host.flash.flash import flash as flash_project
from arenite.profiles.boards import load_board


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--port", help="Serial port of the board; many uploaders find it by themselves.")
@click.option(
    "--tool",
    type=click.Choice(tuple(UPLOADERS)),
    help="Default: the first of the board's profile that is installed.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def flash(directory: Path, port: str | None, tool: str | None, as_json: bool) -> int:
    """Upload the built project in DIRECTORY to its board. An emulated board is started once, greeted and stopped."""
    board = load_board(read_manifest(directory)["board"])
    if not board.emulated:
        note(f"Uploading to {board.name}")
    flash_project(directory, board, port, tool=tool)
    if as_json:
        print_json({"schema": "arenite.flash/1", "directory": str(directory), "board": board.name})
    else:
        show(f"{board.name}: " + ("started, and it answers" if board.emulated else "flashed"))
    return 0
