"""Drives of bootloaders and debug probes, recognised by their description file."""

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

_ESCAPED = re.compile(r"\\([0-7]{3})")
_FILE_SYSTEMS = ("vfat", "msdos", "fat", "exfat", "fuseblk")
#: The folders of mounted drives on systems without /proc/mounts.
_ELSEWHERE = ("Volumes",)


@dataclass(frozen=True)
class Drive:
    """A mounted drive and its description. ``facts`` has lower-case names; ``device`` is the block device,
    which disappears even where the mount stays, as it does when a drive is unplugged without unmounting."""

    folder: Path
    facts: dict[str, str]
    device: Path | None = None


def read_facts(path: Path) -> dict[str, str]:
    """``Name: value`` lines, as in INFO_UF2.TXT and DETAILS.TXT; empty where the file is missing or unreadable."""
    try:
        text = path.read_text("ascii", "replace")
    except OSError:
        return {}
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}


def _mounted(root: Path) -> Iterator[tuple[Path, Path | None]]:
    """Folder and, where there is one, block device of every drive."""
    with contextlib.suppress(OSError):
        for line in (root / "proc/mounts").read_text("utf-8", "replace").splitlines():
            fields = line.split()
            if len(fields) > 2 and fields[2] in _FILE_SYSTEMS:
                folder = _ESCAPED.sub(lambda found: chr(int(found[1], 8)), fields[1])
                device = root / fields[0].lstrip("/")
                yield root / folder.lstrip("/"), device if device.exists() else None
    for place in _ELSEWHERE:
        yield from ((folder, None) for folder in (root / place).glob("*"))


def find_drives(description: str, root: Path | None = None) -> list[Drive]:
    """Every mounted drive that has the file ``description``."""
    drives = []
    for folder, device in dict(_mounted(ROOT if root is None else root)).items():
        if facts := read_facts(folder / description):
            drives.append(Drive(folder, facts, device))
    return drives


def drive_at(folder: Path, description: str, root: Path | None = None) -> Drive:
    """The drive whose folder the user named; without facts where it has no ``description``."""
    device = dict(_mounted(ROOT if root is None else root)).get(folder.absolute())
    return Drive(folder, read_facts(folder / description), device)


def put(drive: Drive, name: str, data: bytes) -> None:
    """Write ``data`` to ``drive`` as ``name``, and flush it to the device.

    A bootloader starts the program as soon as it has the last block, so the end of the write may fail because
    the drive is already gone; that is not an error. Raises ToolError when the drive is full or read-only.
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
                "Is the drive read-only, full, or mounted by another user?",
            ) from error


def wait_gone(drive: Drive, description: str, timeout_s: float) -> None:
    """Wait until ``drive`` disappears, as it does when the program starts. Raises DeviceError when it stays."""
    end = time.monotonic() + timeout_s
    while (drive.folder / description).is_file() and (drive.device is None or drive.device.exists()):
        if time.monotonic() > end:
            raise DeviceError(
                f"The drive {drive.folder} is still there: its bootloader did not accept the program.",
                "Unplug it, start the bootloader again and repeat; a very old bootloader may need an update.",
            )
        time.sleep(0.05)
