"""``arenite monitor``: print what a device sends on its serial port."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import click

from arenite.host.cli.option_types import Number
from arenite.host.cli.port_argument import find_port_path
from arenite.host.link.device_log import follow
from arenite.host.link.line_log import LogLine, watch
from arenite.host.link.ports import AUTO
from arenite.host.report.console import note, show
from arenite.profiles.boards import load_board


@click.command()
@click.argument("port", default=AUTO)
@click.option(
    "--board",
    metavar="NAME",
    help=(
        "Use the baud rate of this board, and find its port if PORT is auto. `arenite boards` lists the "
        "names."
    ),
)
@click.option(
    "--baud",
    type=click.IntRange(min=50),
    help="Baud rate. Default: the baud rate of --board, or 115200 without --board.",
)
@click.option(
    "--log",
    "read_log",
    is_flag=True,
    help=(
        "Instead of printing everything that the device sends, read its log and its health report once per "
        "second. Requires firmware that was generated with --health."
    ),
)
@click.option(
    "--reconnect",
    is_flag=True,
    help="If the port disappears, wait for it to return and continue. Default: stop.",
)
@click.option(
    "--seconds",
    type=Number(min=0),
    metavar="SECONDS",
    help="Stop after this number of seconds. Default: run until Ctrl-C.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line to standard output.")
def monitor(
    port: str,
    board: str | None,
    baud: int | None,
    read_log: bool,
    reconnect: bool,
    seconds: float | None,
    as_json: bool,
) -> int:
    """Print what the device on PORT sends, with the time at which each line arrived.

    PORT is a path such as /dev/ttyACM0, usb:SERIAL for the USB device with this serial number, or auto. With --board,
    auto is the port of that board; without --board, it is the only USB serial port. Default: auto.

    Press Ctrl-C to stop.
    """
    profile = load_board(board) if board else None
    speed = baud or (profile.uart.baud if profile else 115200)
    end = None if seconds is None else time.monotonic() + seconds
    with _until_interrupted():
        for line in (follow if read_log else watch)(
            lambda: find_port_path(port, profile),
            speed,
            reconnect=reconnect,
            stop=lambda: end is not None and time.monotonic() >= end,
        ):
            _print(line, as_json)
    return 0


@contextmanager
def _until_interrupted() -> Iterator[None]:
    """Treat Ctrl-C in the ``with`` block as the normal end of the monitor."""
    try:
        yield
    except KeyboardInterrupt:
        note("Stopped.")


def _print(line: LogLine, as_json: bool) -> None:
    if as_json:
        entry = {"time_s": round(line.at, 3), "text": line.text, "event": line.event or None}
        sys.stdout.write(json.dumps(entry) + "\n")
        sys.stdout.flush()
    elif line.event:
        note(f"{line.event}: {line.text}")
    else:
        stamp = datetime.fromtimestamp(line.at).strftime("%H:%M:%S.%f")[:-3]
        show(f"{stamp}  {line.text}")
        sys.stdout.flush()
