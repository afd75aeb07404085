"""A file tree like the kernel's sysfs, for tests of code that finds boards by their USB ids."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass
class UsbTree:
    """A file tree under ``root`` that contains ``sys`` and ``dev`` with the same links as those of a running kernel."""

    root: Path

    def __post_init__(self) -> None:
        for folder in ("sys/class/tty", "sys/bus/usb/devices", "dev"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)

    def plug(
        self,
        id: str,
        ports: tuple[str, ...] = (),
        *,
        product: str = "",
        maker: str = "",
        serial: str = "",
        location: str = "1-1",
        device_class: str = "00",
    ) -> Path:
        """Add a USB device with one interface per serial port. ``ttyACM*`` is in the interface's folder, ``ttyUSB*`` in
        a folder below it. Return the device's folder."""
        device = self.root / "sys/devices/pci0000:00/0000:00:14.0/usb1" / location
        device.mkdir(parents=True)
        vendor, number = id.split(":")
        texts = {"idVendor": vendor, "idProduct": number, "bDeviceClass": device_class}
        texts |= {"product": product, "manufacturer": maker, "serial": serial}
        for name, text in texts.items():
            if text:
                (device / name).write_text(f"{text}\n")
        (self.root / "sys/bus/usb/devices" / location).symlink_to(device)
        for k, name in enumerate(ports):
            interface = device / f"{location}:1.{2 * k}"
            interface.mkdir()
            (interface / "bInterfaceNumber").write_text(f"{2 * k:02x}\n")
            (self.root / "sys/bus/usb/devices" / interface.name).symlink_to(interface)
            tty = interface / (f"{name}/tty/{name}" if name.startswith("ttyUSB") else f"tty/{name}")
            tty.mkdir(parents=True)
            (self.root / "sys/class/tty" / name).symlink_to(tty)
            (self.root / "dev" / name).touch()
        return device

    def terminal(self, name: str) -> None:
        """Add a serial port that is not on USB, like ttyS0."""
        folder = self.root / "sys/devices/platform/serial8250/tty" / name
        folder.mkdir(parents=True)
        (self.root / "sys/class/tty" / name).symlink_to(folder)

    def link_port(self, name: str, target: str) -> None:
        """Make ``/dev/name`` of the tree a link to a real port."""
        (self.root / "dev" / name).unlink()
        (self.root / "dev" / name).symlink_to(target)
