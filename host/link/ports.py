"""Find the serial port of a board by the USB ids of its profile, for ``--port auto``.

A port is chosen only if no other port can belong to the board. Otherwise the error lists the ports with their ids,
names and serial numbers, and the boards that each port can belong to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from arenite.errors import DeviceError, UsageError
from arenite.host.link.usb import UsbPort, serial_ports, usb_devices
from arenite.profiles.boards import Board, all_boards

AUTO = "auto"
#: Prefix of ``usb:SERIAL``, the port of the device with this serial number.
SERIAL_PREFIX = "usb:"
#: Ids of the chips in USB-to-serial adapters, which do not identify the board behind them.
ADAPTERS = {
    **{f"0403:{product}": "FTDI" for product in ("6001", "6010", "6011", "6014", "6015")},
    "10c4:ea60": "Silicon Labs CP210x",
    "10c4:ea70": "Silicon Labs CP2105",
    "1a86:7523": "WCH CH340",
    "1a86:55d3": "WCH CH343",
    "1a86:55d4": "WCH CH9102",
    "067b:2303": "Prolific PL2303",
    "067b:23a3": "Prolific PL2303GT",
    "2e8a:000c": "Raspberry Pi Debug Probe",
    "04d8:00dd": "Microchip MCP2221",
}
_MAX_NAMES = 3  # maximum number of board names in a row of the table


def matches(board: Board, port: UsbPort) -> bool:
    """Return whether ``port`` can be the port that the firmware of ``board`` uses."""
    usb, device = board.usb, port.device
    known = device.id in usb.ids or (usb.adapter and device.id in ADAPTERS)
    if not known:
        return False
    serial = device.serial.upper()
    if usb.serials:
        return serial.startswith(tuple(s.upper() for s in usb.serials))
    # Other boards may have the same id and certain serial numbers. A device with such a number is one of those boards.
    return not any(
        device.id in other.usb.ids and serial.startswith(tuple(s.upper() for s in other.usb.serials))
        for other in all_boards()
        if other.usb.serials
    )


def possible_boards(port: UsbPort) -> list[str]:
    """Return the names of all boards that ``port`` can belong to."""
    return [board.name for board in all_boards() if not board.emulated and matches(board, port)]


def find_port(board: Board, root: Path | None = None, *, upload: bool = False) -> str:
    """Return the path of the only port that can belong to ``board``.

    Args:
        board: a real board.
        root: the folder that contains ``sys`` and ``dev``; tests pass another folder.
        upload: if no port matches, accept the port of the board's bootloader, which only an uploader can use.

    Raises:
        DeviceError: no such port exists. The message lists the ports that exist.
        UsageError: several ports match, or the board is emulated.
    """
    if board.emulated:
        raise UsageError(f"{board.name} is emulated and does not have a port.", "Leave out --port.")
    ports = serial_ports(root)
    matching_ports = [port for port in ports if matches(board, port)]
    if not matching_ports and upload:
        matching_ports = [port for port in ports if port.device.id in board.usb.boot]
    if len(matching_ports) == 1:
        return matching_ports[0].path
    if matching_ports:
        raise UsageError(
            f"{len(matching_ports)} ports can belong to {board.name}:\n{describe(matching_ports)}",
            f"Choose one: --port {matching_ports[0].path}, or by its serial number, --port"
            f" {SERIAL_PREFIX}{matching_ports[0].device.serial or 'SERIAL'}.",
        )
    raise _none_found(board, ports, root)


def _none_found(board: Board, ports: Sequence[UsbPort], root: Path | None) -> DeviceError:
    """Return the error if no port can belong to ``board``."""
    boot = [device for device in usb_devices(root) if device.id in board.usb.boot]
    if boot:
        tools = [tool for tool in ("uf2", "dfu") if tool in board.upload_tools]
        hint = f"Flash it: arenite flash DIR --tool {tools[0]}." if tools else "Flash it, or reset it."
        return DeviceError(
            f"{board.name} has no serial port now because it is in its bootloader ({boot[0].id}"
            f" {boot[0].product}).",
            hint,
        )
    requirement = "a USB-to-serial adapter" if board.usb.adapter else " or ".join(board.usb.ids)
    if not ports:
        return DeviceError(
            f"No port for {board.name}: no USB device with a serial port is connected.",
            f"Connect it ({requirement}). Use a cable that carries data.",
        )
    return DeviceError(
        f"None of the ports can belong to {board.name} ({requirement}). The ports are:\n{describe(ports)}",
        "Connect the board, choose the right --board, or give the port with --port.",
    )


def resolve_port(
    board: Board, port: str | None, root: Path | None = None, *, upload: bool = False
) -> str | None:
    """Resolve the value of ``--port``: ``auto`` and ``usb:SERIAL`` become a path, anything else is returned
    unchanged.

    Raises:
        DeviceError, UsageError: as :func:`find_port`.
    """
    if port == AUTO:
        return find_port(board, root, upload=upload)
    if port is not None and port.startswith(SERIAL_PREFIX):
        return find_port_by_serial(port.removeprefix(SERIAL_PREFIX), root)
    return port


def find_port_by_serial(serial: str, root: Path | None = None) -> str:
    """Return the path of the only port of the device with this serial number. Raises the errors of ``find_port``."""
    ports = serial_ports(root)
    matching_ports = [port for port in ports if serial and port.device.serial.lower() == serial.lower()]
    if len(matching_ports) == 1:
        return matching_ports[0].path
    if matching_ports:
        raise UsageError(
            f"The device with the serial number {serial} has {len(matching_ports)} ports:\n{describe(matching_ports)}",
            f"Choose one: --port {matching_ports[0].path}.",
        )
    table = f" The ports are:\n{describe(ports)}" if ports else ""
    raise DeviceError(
        f"No USB device has the serial number {serial}.{table}", "Check that the board is connected."
    )


def describe(ports: Iterable[UsbPort]) -> str:
    """Return a table as text: port, id, product, serial number, and the boards that the port can belong to."""
    listed_ports = list(ports)
    devices = [(port.device.location, port.device.serial) for port in listed_ports]
    with_several_ports = {device for device in devices if devices.count(device) > 1}
    rows = [("port", "id", "product", "serial number", "could be")]
    rows += [
        _row(port, device in with_several_ports) for port, device in zip(listed_ports, devices, strict=True)
    ]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _row(port: UsbPort, one_of_several: bool) -> tuple[str, str, str, str, str]:
    """Return one row of the table. ``one_of_several``: the device has several ports, so the row contains the port's
    interface number."""
    names = possible_boards(port)
    boards = ", ".join(names[:_MAX_NAMES])
    boards += f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    if port.device.id in ADAPTERS:
        boards = f"any board behind a {ADAPTERS[port.device.id]} adapter"
    product = port.device.product or port.device.maker or "-"
    if port.interface and one_of_several:
        product += f", interface {port.interface}"
    return port.path, port.device.id, product, port.device.serial or "-", boards or "none of the known boards"
