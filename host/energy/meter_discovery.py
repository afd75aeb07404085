"""Find the meters that are connected to this computer, by their USB ids. No device is opened.

The USB ids are: PPK2 1915:c00a (from its udev rules), LPM01A 0483:5740 with the product name "PowerShield…" (ST uses
this id for all its serial ports), Joulescope 16d0:0e88, 16d0:10ba and 16d0:135a (from 72-joulescope.rules of
pyjoulescope). An Otii is found by connecting to the server of its program on this computer.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serial.tools import list_ports

PPK2, ST_SERIAL = (0x1915, 0xC00A), (0x0483, 0x5740)
JOULESCOPES = {("16d0", "0e88"): "JS110", ("16d0", "10ba"): "JS220", ("16d0", "135a"): "JS320"}
OTII_PORT = 1905


@dataclass(frozen=True)
class DetectedMeter:
    """A connected meter. ``name`` is a key of METERS, ``where`` its port. ``sure``: no other device has its USB ids."""

    name: str
    where: str
    description: str
    sure: bool = True
    serial: str = ""


def find_meters(
    ports: Iterable[Any] | None = None, usb: Path = Path("/sys/bus/usb/devices"), otii_port: int = OTII_PORT
) -> list[DetectedMeter]:
    """Return the connected meters. ``ports``: serial ports from pyserial; None for all ports of this computer. ``usb``:
    the kernel's folder of USB devices."""
    meters: list[DetectedMeter] = []
    known_keys: set[str] = set()
    for port in sorted(list_ports.comports() if ports is None else ports, key=_port_order):
        ids = (port.vid, port.pid)
        serial = port.serial_number or ""
        if ids == PPK2:
            # A PPK2 may show two ports; the first port is its data port.
            key = f"ppk2 {serial or port.device}"
            if key not in known_keys:
                meters.append(DetectedMeter("ppk2", port.device, "Nordic PPK2", serial=serial))
            known_keys.add(key)
        elif ids == ST_SERIAL:
            product = f"{port.product or ''} {port.description or ''}".lower()
            sure = "powershield" in product
            description = "ST X-NUCLEO-LPM01A" if sure else "a serial port with ST's id"
            meters.append(DetectedMeter("lpm01a", port.device, description, sure, serial))
    meters += _joulescopes(usb)
    with suppress(OSError), socket.create_connection(("127.0.0.1", otii_port), timeout=0.2):
        meters.append(DetectedMeter("otii", f"tcp:127.0.0.1:{otii_port}", "the Otii program's server"))
    return meters


def _port_order(port: Any) -> tuple[str, str, str]:
    """Return a sort key that puts the ports of one device in the order of its interfaces."""
    return (port.serial_number or "", port.location or "", port.device)


def _joulescopes(usb: Path) -> list[DetectedMeter]:
    meters = []
    for folder in sorted(usb.glob("*")):
        attributes = {}
        for name in ("idVendor", "idProduct", "serial"):
            with suppress(OSError):
                attributes[name] = (folder / name).read_text().strip().lower()
        model = JOULESCOPES.get((attributes.get("idVendor", ""), attributes.get("idProduct", "")))
        if model is not None:
            meters.append(
                DetectedMeter("joulescope", "usb", f"Joulescope {model}", serial=attributes.get("serial", ""))
            )
    return meters
