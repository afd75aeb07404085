"""Open the boards of one run, which are emulators or boards on ports, and open a lost board again."""

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

#: A function that flashes the board on a port and opens its transport. For None it starts the emulator instead.
Opener = Callable[[str | None], AbstractContextManager[Transport]]

#: Seconds between two checks for a port that disappeared, and the longest time that a reset may take.
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
    """Return one slot per port, or ``copies`` slots of an emulated board if there are no ports.

    An emulated board with a port was started by the user, so it is treated as a board on a cable. ``wait_s`` is the
    number of seconds to wait for a board that disappeared. ``open_line`` flashes a board and opens its transport. If
    ``reconnect`` is false, a board that stopped is lost.

    Raises ``UsageError`` for ports and copies that exclude each other.
    """
    repeated_ports = sorted({p for p in ports if ports.count(p) > 1})
    if repeated_ports:
        raise UsageError(f"--port {repeated_ports[0]} is given twice.", "Give each board its own port.")
    if copies > 1 and (ports or not board.emulated):
        raise UsageError(
            "--copies starts several emulators.", "For several real boards, give --port several times."
        )
    if not ports:
        slots = [_emulator(board, number, copies, wait_s, open_line) for number in range(1, copies + 1)]
    else:
        slots = [_on_cable(board, port, baud, wait_s, open_line) for port in ports]
    return slots if reconnect else [DeviceSlot(slot.name, slot.open) for slot in slots]


def _emulator(board: Board, number: int, copies: int, wait_s: float, open_line: Opener) -> DeviceSlot:
    def start() -> AbstractContextManager[Transport]:
        return open_line(None)

    name = board.name if copies == 1 else f"{board.name} {number}"
    return DeviceSlot(name, start, start if wait_s > 0 else None)


def _on_cable(board: Board, port: str, baud: int, wait_s: float, open_line: Opener) -> DeviceSlot:
    def open_first() -> AbstractContextManager[Transport]:
        if board.emulated:
            return open_running_board(resolve_port(board, port) or port, baud)
        return open_line(port)

    def reopen_after_loss() -> AbstractContextManager[Transport]:
        return reopen_board(board, port, baud, wait_s)

    def open_after_reset() -> AbstractContextManager[Transport]:
        return reopen_board(board, port, baud, RESTART_S)

    reopen = reopen_after_loss if wait_s > 0 else None
    if board.emulated:
        return DeviceSlot(port, open_first, reopen)
    return DeviceSlot(
        port,
        open_first,
        reopen,
        lambda: recover_board(board, resolve_port(board, port) or port),
        open_after_reset,
    )


@contextmanager
def open_running_board(port: str, baud: int) -> Iterator[Transport]:
    """Open the transport of a board that already runs its firmware."""
    transport = SerialTransport(port, baud)
    try:
        yield transport
    finally:
        transport.close()


@contextmanager
def reopen_board(board: Board, port: str, baud: int, wait_s: float) -> Iterator[Transport]:
    """Wait until a board that disappeared is connected again, and open its transport. The board keeps its firmware.

    Raises ``DeviceError`` when it is not connected within ``wait_s``.
    """
    transport = _wait_for_port(board, port, baud, time.monotonic() + wait_s)
    if transport is None:
        raise DeviceError(
            f"{port} did not come back within {wait_s:g} s.",
            "Connect the board again. A larger --wait allows more time.",
        )
    try:
        yield transport
    finally:
        transport.close()


def _wait_for_port(board: Board, port: str, baud: int, end: float) -> SerialTransport | None:
    """Wait for ``port`` and open it. Return None if it does not exist before the time ``end`` of the monotonic clock.

    ``port`` may be ``auto`` or ``usb:SERIAL``, so the board's device file may have a new name after a loss.
    """
    time.sleep(PORT_POLL_S)  # the name of a port may exist a little longer than its device
    while time.monotonic() < end:
        # An error means that the port is missing or not ready: udev may still be setting its permissions.
        with contextlib.suppress(AreniteError):
            return SerialTransport(resolve_port(board, port) or port, baud)
        time.sleep(PORT_POLL_S)
    return None
