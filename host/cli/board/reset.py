"""``arenite reset``: reset a board from the computer, even when its firmware hangs."""

from __future__ import annotations

import shlex

import click

from arenite.errors import UsageError
from arenite.host.link.ports import AUTO, resolve_port
from arenite.host.link.reset import KINDS, power_command
from arenite.host.link.reset import reset as reset_board
from arenite.host.report.console import print_json, show
from arenite.profiles.boards import load_board


@click.command()
@click.argument("port", default=AUTO)
@click.option(
    "--board",
    required=True,
    metavar="NAME",
    help="Name of the board to reset; `arenite boards` lists the names.",
)
@click.option(
    "--way",
    type=click.Choice(KINDS),
    help=(
        "How to reset. dtr and rts: toggle this control line of the serial port. esp: set both lines in the "
        "sequence that ESP boards need. usb-jtag: the same, more slowly, for the USB port built into ESP "
        "chips. break: send a serial break, on which a debug probe resets its target. 1200bps: open the port "
        "at 1200 baud, which starts the bootloader instead of the firmware. power: switch the USB port off and on "
        "with uhubctl. Default: the way in the board's profile."
    ),
)
@click.option(
    "--print", "only_print", is_flag=True, help="Print what the command would do, without doing it."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def reset(port: str, board: str, way: str | None, only_print: bool, as_json: bool) -> int:
    """Reset the board on PORT. This also works if the firmware hangs, except with --way 1200bps, for which the firmware
    must still answer over USB.

    PORT is a path such as /dev/ttyACM0, usb:SERIAL for the USB device with this serial number, or auto to find the
    board's port by its USB id. Default: auto.
    """
    profile = load_board(board)
    kind = way or profile.targets.reset
    if not kind:
        raise UsageError(
            f"The profile of {profile.name} does not name a way to reset the board over its port.",
            f"Choose one with --way: {', '.join(KINDS)}.",
        )
    path = resolve_port(profile, port)
    assert path is not None
    common = {
        "schema": "arenite.reset/1",
        "board": profile.name,
        "port": path,
        "way": kind,
        "done": not only_print,
    }
    if only_print:
        command = shlex.join(power_command(path)) if kind == "power" else None
        if as_json:
            print_json({**common, "command": command})
        else:
            show(command or f"{kind} on {path}")
        return 0
    reset_board(kind, path)
    if as_json:
        print_json(common)
    else:
        show(f"{profile.name} on {path}: reset by {kind}")
    return 0
