"""Identify the debug probes on USB, and choose the probe of a board."""

from __future__ import annotations

import re

from arenite.errors import DeviceError, UsageError
from arenite.host.flash.upload import Upload
from arenite.host.link.usb import UsbDevice, serial_ports, usb_devices

_ST_LINKS = ("3744", "3748", "374a", "374b", "374d", "374e", "374f", "3752", "3753", "3754")
#: Matches valid serial numbers of probes. A text with other characters could be an option or a command for the tool
#: that receives the serial number.
_SERIAL_NUMBER = re.compile(r"\w[\w.:-]*", re.ASCII)
_CMSIS_DAP = ("0d28:0204", "2e8a:000c", "c251:2750", "1fc9:0090", "1fc9:0143")


def kind_of(device: UsbDevice) -> str | None:
    """Return the kind of a debug probe ("stlink", "jlink", "icdi" or "cmsis-dap"), or None for another device."""
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
    """Return the kind of probe to use.

    If a probe of the kind on the board itself is connected, or no probe is connected, it is this kind. Otherwise it is
    the only kind that is connected.

    Raises:
        UsageError: probes of several kinds are connected, and none has the kind of the board's own probe.
    """
    kinds = {kind for device in _candidates(upload) if (kind := kind_of(device)) is not None}
    onboard_kind = upload.board.usb.probe
    if onboard_kind and (onboard_kind in kinds or not kinds):
        return onboard_kind
    if len(kinds) > 1:
        raise UsageError(
            f"Probes of several kinds are connected: {', '.join(sorted(kinds))}.",
            "Choose one by its serial number: --probe SERIAL.",
        )
    return kinds.pop() if kinds else "cmsis-dap"


def _candidates(upload: Upload) -> list[UsbDevice]:
    """Return all USB devices, or only the device with the serial number that the user named."""
    devices = usb_devices(upload.root)
    if upload.probe is None:
        return devices
    return [device for device in devices if device.serial.lower() == upload.probe.lower()]


def probe_serial(upload: Upload) -> str | None:
    """Return the serial number of the board's probe, or None if it is not known.

    It is the serial number that the user named, or the serial number of the probe whose serial port is the upload's
    port. So the port is sufficient to distinguish two equal boards.

    Raises:
        UsageError: the serial number that the user named has characters that no serial number has.
        DeviceError: the serial number that the probe reports has such characters.
    """
    if upload.probe is not None:
        if not _SERIAL_NUMBER.fullmatch(upload.probe):
            raise UsageError(
                f"--probe {upload.probe!r} is not a serial number, which has letters, digits and . : - _ only.",
                "`arenite boards --ports` lists the serial numbers.",
            )
        return upload.probe
    for port in serial_ports(upload.root):
        if port.path == upload.port and kind_of(port.device) is not None and (serial := port.device.serial):
            if not _SERIAL_NUMBER.fullmatch(serial):
                raise DeviceError(
                    f"The probe on {port.path} has the serial number {serial!r}, but a serial number has letters,"
                    " digits and . : - _ only. No tool is given this text, because it could be a command.",
                    "Leave out --port if this is the only probe, and check where the probe comes from.",
                )
            return serial
    return None
