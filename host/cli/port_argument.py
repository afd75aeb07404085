"""The argument PORT of commands: a path, ``usb:SERIAL`` or ``auto``."""

from __future__ import annotations

from arenite.errors import UsageError
from arenite.host.link.ports import AUTO, SERIAL_PREFIX, describe, find_port_by_serial, resolve_port
from arenite.host.link.usb import serial_ports
from arenite.profiles.boards import Board


def find_port_path(port: str, board: Board | None) -> str:
    """Return the path of ``port``. ``auto`` is the port of ``board``, or without a board the only USB serial port.

    Raises:
        DeviceError, UsageError: There is no such port, or there are several.
    """
    if board is not None:
        if board.emulated and port == AUTO:
            raise UsageError(
                f"{board.name} is emulated and has no port of its own.",
                "Name the port of its serial line, or a real board; `arenite bench` shows its messages.",
            )
        port_path = resolve_port(board, port)
        assert port_path is not None
        return port_path
    if port == AUTO:
        ports = serial_ports()
        if len(ports) == 1:
            return ports[0].path
        problem = (
            f"This computer has {len(ports)} USB serial ports:\n{describe(ports)}"
            if ports
            else "This computer has no USB serial port."
        )
        raise UsageError(problem, "Give --board NAME, or the port's name.")
    if port.startswith(SERIAL_PREFIX):
        return find_port_by_serial(port.removeprefix(SERIAL_PREFIX))
    return port
