"""Debug probes on USB: their kinds, and the choice of the board's probe."""

from __future__ import annotations

from arenite.errors import UsageError
from arenite.host.flash.upload import Upload
from arenite.host.link.usb import UsbDevice, serial_ports, usb_devices

_ST_LINKS = ("3744", "3748", "374a", "374b", "374d", "374e", "374f", "3752", "3753", "3754")
_CMSIS_DAP = ("0d28:0204", "2e8a:000c", "c251:2750", "1fc9:0090", "1fc9:0143")


def kind_of(device: UsbDevice) -> str | None:
    """One of ``profiles.attached.PROBES``; None for a device that is not a debug probe."""
    vendor, product = device.id.split(":")
    if vendor == "0483" and product in _ST_LINKS:
        return "stlink"
    if vendor == "1366":
        return "jlink"
    if device.id == "1cbe:00fd":
        return "icdi"
    if device.id in _CMSIS_DAP or "CMSIS-DAP" in device.product:
        return "cmsis-dap"
    return None


def probe_kind(upload: Upload) -> str:
    """The kind of probe to use: the board's own where it is plugged in or no probe is, else the only kind
    that is plugged in.

    Raises:
        UsageError: several kinds are plugged in and none is the board's.
    """
    kinds = {kind for device in _candidates(upload) if (kind := kind_of(device)) is not None}
    own = upload.board.usb.probe
    if own and (own in kinds or not kinds):
        return own
    if len(kinds) > 1:
        raise UsageError(
            f"Probes of several kinds are plugged in: {', '.join(sorted(kinds))}.",
            "Name one by its serial number: --probe SERIAL.",
        )
    return kinds.pop() if kinds else "cmsis-dap"


def _candidates(upload: Upload) -> list[UsbDevice]:
    """All devices, or the one whose serial number was given."""
    devices = usb_devices(upload.root)
    if upload.probe is None:
        return devices
    return [device for device in devices if device.serial.lower() == upload.probe.lower()]


def probe_serial(upload: Upload) -> str | None:
    """The serial number of the board's probe: the given one, or that of the device that ``port`` belongs to.

    With a port each, two boards of a kind therefore get their own programs.
    """
    if upload.probe is not None:
        return upload.probe
    for port in serial_ports(upload.root):
        if port.path == upload.port and kind_of(port.device) is not None:
            return port.device.serial or None
    return None
