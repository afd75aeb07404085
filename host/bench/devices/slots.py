"""The boards of one run: emulators, or boards on their ports; and how each is found again after a loss."""

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

#: Opens the transport of a port after flashing its board; for None it starts the emulator.
Opener = Callable[[str | None], AbstractContextManager[Transport]]

#: Seconds between two looks for a port that disappeared; the longest time that a board may be away after a
#: reset.
PORT_POLL_S, RESTART_S = 0.2, 10.0


def device_slots(
    board: Board,
    ports: Sequence[str],
    copies: int,
    wait_s: float,
    open_line: Opener,
    *,
    baud: int,
    reconnect: bool = True,
) -> list[DeviceSlot]:
    """One slot per port, or per copy of an emulated board.

    An emulated board with a port already runs elsewhere, like a board on a cable, and is not started.
    ``wait_s``: how long to wait for a board that disappeared; 0: not at all. With ``reconnect`` off a board that
    stopped is lost.

    Raises ``UsageError`` for ports and copies that do not go together.
    """
    twice = sorted({p for p in ports if ports.count(p) > 1})
    if twice:
        raise UsageError(f"--port {twice[0]} is given twice.", "Give each board its own port.")
    if copies > 1 and (ports or not board.emulated):
        raise UsageError(
            "--copies starts several emulators.", "For several real boards, give --port several times."
        )
    if not ports:
        slots = [_emulator(board, number, copies, wait_s, open_line) for number in range(1, copies + 1)]
    else:
        slots = [_on_cable(board, port, baud, wait_s, open_line) for port in ports]
    return slots if reconnect else [DeviceSlot(seat.name, seat.open) for seat in slots]


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

    def reopened() -> AbstractContextManager[Transport]:
        return reopen_board(board, port, baud, wait_s)

    def after_reset() -> AbstractContextManager[Transport]:
        return reopen_board(board, port, baud, RESTART_S)

    reopen = reopened if wait_s > 0 else None
    if board.emulated:
        return DeviceSlot(port, first, reopen)
    return DeviceSlot(
        port, first, reopen, lambda: recover_board(board, resolve_port(board, port) or port), after_reset
    )


@contextmanager
def open_running_board(port: str, baud: int) -> Iterator[Transport]:
    """The transport of a board that already runs its firmware."""
    transport = SerialTransport(port, baud)
    try:
        yield transport
    finally:
        transport.close()


@contextmanager
def reopen_board(board: Board, port: str, baud: int, wait_s: float) -> Iterator[Transport]:
    """The transport of a board that disappeared, once it is plugged in again; it keeps its firmware
    meanwhile.

    Raises ``DeviceError`` when it is not back within ``wait_s``.
    """
    transport = _reopened(board, port, baud, time.monotonic() + wait_s)
    if transport is None:
        raise DeviceError(
            f"{port} did not come back within {wait_s:g} s.",
            "Plug the board in again; a larger --wait allows more time.",
        )
    try:
        yield transport
    finally:
        transport.close()


def _reopened(board: Board, port: str, baud: int, until: float) -> SerialTransport | None:
    """``port`` may be ``auto`` or ``usb:SERIAL``, because the board may come back under another name."""
    time.sleep(PORT_POLL_S)  # a name may exist a moment longer than its device
    while time.monotonic() < until:
        # Missing or not ready: udev may still be setting its permissions.
        with contextlib.suppress(AreniteError):
            return SerialTransport(resolve_port(board, port) or port, baud)
        time.sleep(PORT_POLL_S)
    return None
