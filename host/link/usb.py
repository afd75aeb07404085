"""List the USB devices of this computer, and the serial ports that belong to them.

On Linux the list comes from sysfs below ``root`` (``/``, or another folder in tests). On other systems it comes from
pyserial.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from arenite.printable import printable

ROOT = Path("/")


@dataclass(frozen=True)
class UsbDevice:
    """A USB device. ``id`` is vendor and product in hexadecimal, ``vvvv:pppp``. ``location`` is the number of the bus
    and of each hub port up to the device, as in ``1-1.4``."""

    id: str
    product: str = ""
    maker: str = ""
    serial: str = ""
    location: str = ""


@dataclass(frozen=True)
class UsbPort:
    """A serial port of a device. ``interface`` (a number, or "") distinguishes several ports of one device."""

    path: str
    device: UsbDevice
    interface: str = ""


def usb_devices(root: Path | None = None) -> list[UsbDevice]:
    """Return all USB devices except hubs, ordered by location. Without sysfs, return only devices with a serial
    port."""
    root = ROOT if root is None else root
    if not _has_sysfs(root):
        return list({port.device.location: port.device for port in serial_ports(root)}.values())
    devices = [_device(folder) for folder in (root / "sys/bus/usb/devices").glob("*") if _is_device(folder)]
    return sorted((d for d in devices if d is not None), key=lambda d: d.location)


def serial_ports(root: Path | None = None) -> list[UsbPort]:
    """Return the serial ports that belong to a USB device, sorted by path."""
    root = ROOT if root is None else root
    if not _has_sysfs(root):
        return _by_pyserial()
    ports = []
    for entry in (root / "sys/class/tty").glob("*"):
        if (port := _port(entry, root)) is not None:
            ports.append(port)
    return sorted(ports, key=lambda port: (len(port.path), port.path))


def _has_sysfs(root: Path) -> bool:
    return sys.platform.startswith("linux") or root != ROOT


def _port(entry: Path, root: Path) -> UsbPort | None:
    """Return the port behind an entry of ``/sys/class/tty``, or None for a terminal that is not on USB."""
    path, interface = entry.resolve(), ""
    while path != path.parent:
        if (path / "bInterfaceNumber").is_file():
            interface = _text(path / "bInterfaceNumber")
        if _is_device(path):
            device = _device(path)
            return None if device is None else UsbPort(str(root / "dev" / entry.name), device, interface)
        path = path.parent
    return None


def _is_device(folder: Path) -> bool:
    return (folder / "idVendor").is_file()


def _device(folder: Path) -> UsbDevice | None:
    vendor, product = _text(folder / "idVendor").lower(), _text(folder / "idProduct").lower()
    if not (vendor and product) or _text(folder / "bDeviceClass") == "09":  # unplugged meanwhile, or a hub
        return None
    return UsbDevice(
        id=f"{vendor}:{product}",
        product=_text(folder / "product"),
        maker=_text(folder / "manufacturer"),
        serial=_text(folder / "serial"),
        location=folder.resolve().name,
    )


def _text(path: Path) -> str:
    """Return the contents of a sysfs attribute, or "" if it does not exist or the device was unplugged meanwhile.
    Control characters are escaped, because the device chooses its names."""
    try:
        return printable(path.read_text("utf-8", "replace").strip())
    except OSError:
        return ""


def _by_pyserial() -> list[UsbPort]:
    from serial.tools.list_ports import comports

    ports = []
    for port in comports():
        if port.vid is None or port.pid is None:
            continue
        device = UsbDevice(
            id=f"{port.vid:04x}:{port.pid:04x}",
            product=printable(port.product or port.description or ""),
            maker=printable(port.manufacturer or ""),
            serial=printable(port.serial_number or ""),
            location=port.location or port.device,
        )
        ports.append(UsbPort(port.device, device))
    return ports
