"""The options of ``arenite live`` and ``arenite record`` that choose a device, and its messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from arenite.errors import UsageError
from arenite.host.link.ports import AUTO, SERIAL_PREFIX, find_port_by_serial
from arenite.host.live.connection import Notice, port_messages
from arenite.host.live.emulated import emulated_app, emulated_messages
from arenite.host.live.messages import Message
from arenite.profiles.boards import load_board

_F = TypeVar("_F", bound=Callable[..., Any])
_BAUD = 115200


def source_options(function: _F) -> _F:
    """Add the argument TARGET and the options --board, --baud and --play."""
    decorators = (
        click.argument("target", required=False, metavar="[PORT|APP]"),
        click.option(
            "--board",
            metavar="NAME",
            help="Run the application in the folder APP on this emulated board, instead of reading a port.",
        ),
        click.option("--baud", type=click.IntRange(min=50), help=f"Baud rate of PORT. Default: {_BAUD}."),
        click.option(
            "--play",
            type=click.Path(path_type=Path),
            metavar="FILE",
            multiple=True,
            help=(
                "The recording that the sensor of the emulated board plays: a WAV file for a microphone; pictures, "
                "folders of them or .npz files for a camera (repeat the option); otherwise .csv, .npy or .npz with "
                "int16 samples."
            ),
        ),
    )
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


@dataclass(frozen=True)
class LiveSource:
    """The device that the options choose; ``name`` is its port or its board."""

    name: str
    messages: Callable[[Callable[[], bool]], Iterator[Message | Notice]]


def live_source(
    target: str | None, board: str | None, baud: int | None, play: Sequence[Path], *, is_real_time: bool
) -> LiveSource:
    """Return the device that the options choose. Raises ``UsageError`` if they do not fit together."""
    emulated = board is not None and load_board(board).emulated
    if board is None or not emulated:
        if play:
            raise UsageError(
                "Only the sensor of an emulated board can play a file.", "Give --board qemu_mps2_an386."
            )
        if target is None or target == AUTO:
            raise UsageError("The port is missing.", "Give it, for example: arenite live /dev/ttyACM0")
        port = (
            find_port_by_serial(target.removeprefix(SERIAL_PREFIX))
            if target.startswith(SERIAL_PREFIX)
            else target
        )
        speed = baud or (load_board(board).uart.baud if board is not None else _BAUD)
        return LiveSource(port, lambda is_stopped: port_messages(port, speed, "binary samples", is_stopped))
    if not play:
        raise UsageError("The emulated board has nothing to sense.", "Give a recording: --play FILE.")
    app = emulated_app(Path(target or "."), board)
    return LiveSource(
        board,
        lambda is_stopped: emulated_messages(app, play, is_stopped, is_real_time=is_real_time),
    )
