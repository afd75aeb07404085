"""Start the bootloader of a board whose chip has a USB controller, through the serial port of the running program."""

from __future__ import annotations

import time

from arenite.host.flash.upload import Upload, on_port
from arenite.host.link.ports import matches
from arenite.host.link.reset import touch_1200
from arenite.host.link.usb import serial_ports, usb_devices

_BOOTLOADER_TIMEOUT_S = 8.0


def is_in_bootloader(upload: Upload) -> bool:
    """Return whether a USB device with one of the USB ids of the board's bootloader is connected."""
    return any(device.id in upload.board.usb.boot for device in usb_devices(upload.root))


def enter_bootloader(upload: Upload) -> Upload:
    """Start the board's bootloader by opening its port at 1200 baud, and wait until the bootloader runs.

    The returned upload has no port, because the port disappears. ``upload`` is returned unchanged if the board's
    profile does not name this method (``enter``), if the port is unknown, or if the board already runs its bootloader.
    """
    if upload.board.targets.enter != "1200bps" or upload.port is None:
        return upload
    port = next((p for p in serial_ports(upload.root) if p.path == upload.port), None)
    if port is not None and not matches(upload.board, port):
        return upload
    touch_1200(upload.port)
    end = time.monotonic() + _BOOTLOADER_TIMEOUT_S
    while time.monotonic() < end and not is_in_bootloader(upload):
        time.sleep(0.1)
    return on_port(upload, None)
