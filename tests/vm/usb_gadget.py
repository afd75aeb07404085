"""A USB device and its host controller, both emulated by the kernel. The device takes the place of a board.

The device has a serial port (``/dev/ttyGS0`` is the board's end, ``/dev/ttyACM0`` the host's) and optionally a drive.
"""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

from tests.vm import vivid

CONFIG = Path("/sys/kernel/config")
MODULES = (
    *("dummy_hcd", "libcomposite", "usb_f_acm", "usb_f_mass_storage", "cdc-acm", "usb-storage", "sd_mod"),
    *("vfat", "nls_cp437", "nls_ascii", "nls_iso8859-1", "nls_utf8"),
)
BOARD_END = Path("/dev/ttyGS0")


class Gadget:
    """An emulated USB device with the ID ``vvvv:pppp``. Call ``plug`` and ``pull`` any number of times, and ``remove``
    at the end. ``port`` says whether it has a serial port, and ``image`` is the file with the contents of its drive."""

    def __init__(
        self,
        id: str,
        product: str,
        serial: str,
        *,
        port: bool = True,
        image: Path | None = None,
    ) -> None:
        for name in MODULES:
            vivid.load(name)
        if not (CONFIG / "usb_gadget").is_dir():
            run("/bin/busybox", "mount", "-t", "configfs", "none", str(CONFIG))
        vendor, number = id.split(":")
        self._folder = CONFIG / "usb_gadget" / "board"
        self._folder.mkdir()
        self._write("idVendor", f"0x{vendor}")
        self._write("idProduct", f"0x{number}")
        for name, text in (("manufacturer", "A maker"), ("product", product), ("serialnumber", serial)):
            self._write(f"strings/0x409/{name}", text)
        self._functions = (["acm.0"] if port else []) + (["mass_storage.0"] if image else [])
        (self._folder / "configs/c.1").mkdir()
        for function in self._functions:
            (self._folder / "functions" / function).mkdir()
            if image is not None and function.startswith("mass"):
                self._write(f"functions/{function}/lun.0/removable", "1")
                self._write(f"functions/{function}/lun.0/file", str(image))
            (self._folder / "configs/c.1" / function).symlink_to(self._folder / "functions" / function)

    def plug(self) -> None:
        """Connect the device to the host controller."""
        (name,) = [path.name for path in Path("/sys/class/udc").iterdir()]
        self._write("UDC", name)

    def pull(self) -> None:
        """Disconnect the device if it is connected."""
        with contextlib.suppress(OSError):  # the device is not plugged in
            self._write("UDC", "\n")

    def remove(self) -> None:
        """Disconnect the device and delete its configuration in the kernel."""
        self.pull()
        for function in self._functions:
            (self._folder / "configs/c.1" / function).unlink()
        (self._folder / "configs/c.1").rmdir()
        for function in self._functions:
            (self._folder / "functions" / function).rmdir()
        (self._folder / "strings/0x409").rmdir()
        self._folder.rmdir()

    def _write(self, name: str, text: str) -> None:
        path = self._folder / name
        if name.startswith("strings/"):
            path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def run(*command: str) -> str:
    """Run a command and return its output. Raises ``RuntimeError`` if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def fat_image(path: Path, kilobytes: int) -> Path:
    """Write an empty FAT file system to ``path`` and return ``path``."""
    with path.open("wb") as file:
        file.truncate(kilobytes * 1024)
    run("/bin/busybox", "mkdosfs", str(path))
    return path
