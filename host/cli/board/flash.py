"""``arenite flash``: put a built project on its board."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.host.flash.build import read_manifest
from arenite.host.flash.flash import EMULATOR, UPLOADERS, FlashResult, plan
from arenite.host.flash.flash import flash as flash_project
from arenite.host.report.console import note, print_json, show
from arenite.profiles.boards import load_board


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--port",
    help="Serial port of the board, `auto` to find it by its USB id, usb:SERIAL, or HOST:PORT of a GDB server,"
    " for uf2 and copy the drive's folder.",
)
@click.option(
    "--tool",
    type=click.Choice((*UPLOADERS, EMULATOR)),
    help="Default: the first installed tool of the board's profile.",
)
@click.option(
    "--probe", metavar="SERIAL", help="Serial number of the debug probe, when several are connected."
)
@click.option(
    "--extra",
    metavar="ARG",
    multiple=True,
    help="Pass this argument to the tool. May be given several times.",
)
@click.option(
    "--check/--no-check",
    default=True,
    help="Afterwards check that the board runs the project's model (default).",
)
@click.option("--print", "only_print", is_flag=True, help="Print the commands without running them.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def flash(
    directory: Path,
    port: str | None,
    tool: str | None,
    probe: str | None,
    extra: tuple[str, ...],
    check: bool,
    only_print: bool,
    as_json: bool,
) -> int:
    """Upload the built project in DIRECTORY to its board, and ask the board whether it runs the project's model.

    An emulated board is started once, asked and stopped; with --tool gdb it starts empty and is loaded by GDB.
    """
    board = load_board(read_manifest(directory)["board"])
    about = {"schema": "arenite.flash/1", "directory": str(directory), "board": board.name}
    if only_print:
        lines = plan(directory, board, port, tool=tool, probe=probe, extra=extra)
        if as_json:
            print_json({**about, "commands": lines})
        else:
            for line in lines:
                click.echo(line)
        return 0
    if not board.emulated:
        note(f"Uploading to {board.name}")
    done = flash_project(directory, board, port, tool=tool, probe=probe, extra=extra, check=check)
    if as_json:
        print_json({**about, **done.to_json()})
    else:
        show(f"{board.name}: {_outcome(done)}")
        if done.note:
            note(done.note)
    return 0


def _outcome(done: FlashResult) -> str:
    how = "started" if done.tool == EMULATOR else f"{done.nbytes:,} bytes by {done.tool}"
    if done.identity is None:
        return f"flashed, {how}; its model was not checked"
    where = f" on {done.port}" if done.port else ""
    runs = f"'{done.identity.model}'"
    if done.identity.model_hash:
        runs += f" ({done.identity.model_hash})"
    return f"{how}; it answers{where} and runs {runs}"
