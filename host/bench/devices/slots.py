"""The lines of one run: an emulator or several, a board on its port or several; and how each is found again."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from arenite.errors import AreniteError, DeviceError, UsageError
from arenite.host.bench.devices.dispatch import DeviceSlot
from arenite.host.link.ports import resolve_port
from arenite.host.link.reset import recover_board
from arenite.host.link.transport import SerialTransport, Transport
from arenite.profiles.boards import Board

#: Opens the line to a port, after flashing what is there; None: starts the emulator.
Opener = Callable[[str | None], AbstractContextManager[Transport]]

#: How often a port that went away is looked for; how long one may be away after a reset.
PORT_POLL_S, RESTART_S = 0.2, 10.0


def device_slots(
    board: Board,
    ports: Sequence[str],
    copies: int,
    wait_s: float,
    open_line: Opener,
    *,
    baud: int,
    again: bool = True,
) -> list[DeviceSlot]:
    """One seat per port, or per copy of an emulated board.

    An emulated board with a port runs elsewhere already, as a board on a cable does: it is not started.  ``wait_s``:
    how long a board that went away is waited for; 0: not at all.  ``again`` off: a board that stopped is lost.

    Raises ``UsageError`` for ports and copies that do not go together.
    """
    twice = sorted({p for p in ports if ports.count(p) > 1})
    if twice:
        raise UsageError(f"--port {twice[0]} is given twice.", "Give each board's own port.")
    if copies > 1 and (ports or not board.emulated):
        raise UsageError(
            "--copies starts emulators beside each other.", "Real boards are several by several --port."
        )
    if not ports:
        found = [_emulator(board, number, copies, wait_s, open_line) for number in range(1, copies + 1)]
    else:
        found = [_on_cable(board, port, baud, wait_s, open_line) for port in ports]
    return found if again else [DeviceSlot(seat.name, seat.open) for seat in found]


def _emulator(board: Board, number: int, copies: int, wait_s: float, open_line: Opener) -> DeviceSlot:
    def start() -> AbstractContextManager[Transport]:
        return open_line(None)

    name = board.name if copies == 1 else f"{board.name} {number}"
    return DeviceSlot(name, start, start if wait_s > 0 else None)


def _on_cable(board: Board, port: str, baud: int, wait_s: float, open_line: Opener) -> DeviceSlot:
    def first() -> AbstractContextManager[Transport]:
        if board.emulated:
            return open_running_board(resolve_port(board, port) or port, baud)
        return open_line(port)

    def again() -> AbstractContextManager[Transport]:
        return reopen_board(board, port, baud, wait_s)

    def after_reset() -> AbstractContextManager[Transport]:
        return reopen_board(board, port, baud, RESTART_S)

    reopen = again if wait_s > 0 else None
    if board.emulated:
        return DeviceSlot(port, first, reopen)
    return DeviceSlot(
        port, first, reopen, lambda: recover_board(board, resolve_port(board, port) or port), after_reset
    )


@contextmanager
def open_running_board(port: str, baud: int) -> Iterator[Transport]:
    """The line to a board that runs its firmware already."""
    line = SerialTransport(port, baud)
    try:
        yield line
    finally:
        line.close()


@contextmanager
def reopen_board(board: Board, port: str, baud: int, wait_s: float) -> Iterator[Transport]:
    """The line to a board that went away, when its cable is plugged in again; it keeps its firmware meanwhile.

    Raises ``DeviceError`` when it is not back within ``wait_s``.
    """
    line = _reopened(board, port, baud, time.monotonic() + wait_s)
    if line is None:
        raise DeviceError(
            f"{port} did not come back within {wait_s:g} s.",
            "Plug the board in again; a larger --wait allows more time.",
        )
    try:
        yield line
    finally:
        line.close()


def _reopened(board: Board, port: str, baud: int, until: float) -> SerialTransport | None:
    """``port`` may be ``auto`` or ``usb:SERIAL``: then the board may come back under another name."""
    time.sleep(PORT_POLL_S)  # a name may outlive its device for a moment
    while time.monotonic() < until:
        # Not there, or not ready: udev may still be setting its permissions.
        with contextlib.suppress(AreniteError):
            return SerialTransport(resolve_port(board, port) or port, baud)
        time.sleep(PORT_POLL_S)
    return None
