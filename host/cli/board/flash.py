"""``arenite flash``: upload a built project to its board."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.host.flash.build import read_manifest
from arenite.host.flash.flash import EMULATOR, UPLOADERS, FlashResult, upload_commands
from arenite.host.flash.flash import flash as flash_project
from arenite.host.report.console import note, print_json, show
from arenite.profiles.boards import load_board


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--port",
    metavar="PORT",
    help=(
        "Serial port of the board: a path such as /dev/ttyACM0, auto to find it by its USB id, or usb:SERIAL "
        "for the USB device with this serial number. For the tool gdb: HOST:PORT of a GDB server. For the "
        "tools uf2 and copy: the folder of the board's USB drive. Default: the tool finds the board."
    ),
)
@click.option(
    "--tool",
    type=click.Choice((*UPLOADERS, EMULATOR)),
    help="Upload tool. Default: the first installed tool that the board's profile lists.",
)
@click.option(
    "--probe",
    metavar="SERIAL",
    help=(
        "Serial number of the debug probe. Required if several probes are connected. Only for stlink, "
        "openocd, pyocd, jlink and dfu."
    ),
)
@click.option(
    "--extra",
    metavar="ARG",
    multiple=True,
    help="Pass this argument to the upload tool. May be given several times. Not for uf2, copy, gdb and emulator.",
)
@click.option(
    "--check/--no-check",
    default=True,
    help="After the upload, ask the board whether it runs the project's model. Default: --check.",
)
@click.option("--print", "only_print", is_flag=True, help="Print the upload commands without running them.")
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
    """Upload a project to its board, and ask the board whether it runs the project's model.

    DIRECTORY is the folder of a project that `arenite build` has built.

    An emulated board is started, checked in the same way, and stopped. With --tool gdb, the emulator starts without
    firmware, and GDB loads the firmware.
    """
    board = load_board(read_manifest(directory)["board"])
    common = {"schema": "arenite.flash/1", "directory": str(directory), "board": board.name}
    if only_print:
        lines = upload_commands(directory, board, port, tool=tool, probe=probe, extra=extra)
        if as_json:
            print_json({**common, "commands": lines})
        else:
            for line in lines:
                click.echo(line)
        return 0
    if not board.emulated:
        note(f"Uploading to {board.name}")
    result = flash_project(directory, board, port, tool=tool, probe=probe, extra=extra, check=check)
    if as_json:
        print_json({**common, **result.to_json()})
    else:
        show(f"{board.name}: {_outcome(result)}")
        if result.note:
            note(result.note)
    return 0


def _outcome(result: FlashResult) -> str:
    how = "started" if result.tool == EMULATOR else f"{result.nbytes:,} bytes uploaded by {result.tool}"
    if result.identity is None:
        return f"{how}; its model was not checked"
    port_text = f" on {result.port}" if result.port else ""
    runs = f"'{result.identity.model}'"
    if result.identity.model_hash:
        runs += f" ({result.identity.model_hash})"
    return f"{how}; the board answers{port_text} and runs {runs}"
