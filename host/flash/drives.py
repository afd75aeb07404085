"""Find the USB drives of bootloaders and debug probes by their description file, and write files to them."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import DeviceError, ToolError
from arenite.host.link.usb import ROOT
from arenite.printable import printable

_ESCAPED = re.compile(r"\\([0-7]{3})")
_FILE_SYSTEMS = ("vfat", "msdos", "fat", "exfat", "fuseblk")
#: The folders that contain the mounted drives on systems without /proc/mounts.
_MOUNT_FOLDERS = ("Volumes",)


@dataclass(frozen=True)
class Drive:
    """A mounted drive and its description.

    ``facts`` has the values in the description file by their names in lower case. ``device`` is the path of the block
    device. It disappears when the drive is unplugged, even if the folder stays mounted.
    """

    folder: Path
    facts: dict[str, str]
    device: Path | None = None


def read_facts(path: Path) -> dict[str, str]:
    """Read the ``Name: value`` lines of a description file, such as INFO_UF2.TXT and DETAILS.TXT. Return the values by
    their names in lower case. Control characters are escaped. The result is empty if the file cannot be read."""
    try:
        text = path.read_text("ascii", "replace")
    except OSError:
        return {}
    pairs = (line.partition(":") for line in text.splitlines())
    return {
        printable(name.strip().lower()): printable(value.strip()) for name, colon, value in pairs if colon
    }


def _mounted_drives(root: Path) -> Iterator[tuple[Path, Path | None]]:
    """Yield the folder of every drive, and its block device or None."""
    with contextlib.suppress(OSError):
        for line in (root / "proc/mounts").read_text("utf-8", "replace").splitlines():
            fields = line.split()
            if len(fields) > 2 and fields[2] in _FILE_SYSTEMS:
                folder = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), fields[1])
                device = root / fields[0].lstrip("/")
                yield root / folder.lstrip("/"), device if device.exists() else None
    for mount_folder in _MOUNT_FOLDERS:
        yield from ((folder, None) for folder in (root / mount_folder).glob("*"))


def find_drives(description: str, root: Path | None = None) -> list[Drive]:
    """Return every mounted drive that has the file ``description``. ``root`` is the folder that contains ``proc``."""
    drives = []
    for folder, device in dict(_mounted_drives(ROOT if root is None else root)).items():
        if facts := read_facts(folder / description):
            drives.append(Drive(folder, facts, device))
    return drives


def drive_at(folder: Path, description: str, root: Path | None = None) -> Drive:
    """Return the drive that is mounted at ``folder``. Its ``facts`` are empty if it has no file ``description``."""
    device = dict(_mounted_drives(ROOT if root is None else root)).get(folder.absolute())
    return Drive(folder, read_facts(folder / description), device)


def put(drive: Drive, name: str, data: bytes) -> None:
    """Write ``data`` to ``drive`` as ``name``, and flush it to the device.

    A bootloader starts the program as soon as it has received the last block. The end of the write may then fail
    because the drive has disappeared. This failure is ignored. Raises ToolError if the drive is full or read-only.
    """
    path = drive.folder / name
    written = 0
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            while written < len(data):
                written += os.write(handle, data[written : written + (1 << 16)])
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if written < len(data) or (
            drive.folder.is_dir() and os.access(drive.folder, os.W_OK) and path.exists()
        ):
            raise ToolError(
                f"{path} cannot be written: {error.strerror or error}.",
                "Check that the drive is writable, not full, and not mounted by another user.",
            ) from error


def wait_gone(drive: Drive, description: str, timeout_s: float) -> None:
    """Wait until ``drive`` disappears because the program starts. Raises DeviceError if it does not disappear."""
    end = time.monotonic() + timeout_s
    while (drive.folder / description).is_file() and (drive.device is None or drive.device.exists()):
        if time.monotonic() > end:
            raise DeviceError(
                f"The drive {drive.folder} is still mounted, so its bootloader did not accept the program.",
                "Unplug the board, start its bootloader and flash again. A very old bootloader may need an update.",
            )
        time.sleep(0.05)
