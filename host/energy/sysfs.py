"""Read the kernel's small text files: numbers that may be missing, malformed, forbidden or out of range."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from arenite.errors import DeviceError


def read_text(path: Path) -> str | None:
    """Return the file's text without surrounding white space and NULs (device tree strings end in a NUL). Return None
    if the file cannot be read: sysfs files exist only while their driver is loaded, and return EIO, ENODATA or EAGAIN
    while a sensor sleeps."""
    try:
        return path.read_bytes().decode("utf-8", "replace").strip("\0 \t\r\n")
    except OSError:
        return None


def read_number(path: Path) -> float | None:
    """Return the number in the file; None if the file contains no finite number."""
    text = read_text(path)
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def is_forbidden(path: Path) -> bool:
    """Return whether the file exists and reading it is not allowed."""
    try:
        with path.open("rb") as file:
            file.read(1)
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def children(folder: Path, pattern: str) -> list[Path]:
    """Return the matching paths in the order of the numbers in their names (hwmon2 before hwmon10). Return an empty
    list if the folder does not exist."""
    try:
        matches = list(folder.glob(pattern))
    except OSError:
        return []
    return sorted(matches, key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)] or [0])


def file_numbers(folder: Path, prefix: str, suffix: str) -> Iterator[int]:
    """Yield the number N of each file ``prefix N suffix`` in the folder, ascending."""
    form = re.compile(re.escape(prefix) + r"(\d+)" + re.escape(suffix))
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return
    yield from sorted(int(match[1]) for match in map(form.fullmatch, names) if match)


#: The highest power of any supported computer. A sensor that reads more is broken or uses another unit.
MAX_WATTS = 2000.0


def checked_watts(watts: float, source: str) -> float:
    """Return ``watts``. Raises ``DeviceError`` if such a power is impossible."""
    if not math.isfinite(watts) or watts < 0 or watts > MAX_WATTS:
        raise DeviceError(
            f"{source} reads {watts:g} W, which is impossible.",
            "Choose another sensor with --power-source, or --power-source estimate.",
        )
    return watts


def sensor_lost(source: str, path: Path) -> DeviceError:
    """Return the error for a sensor that no longer answers."""
    return DeviceError(
        f"{source} no longer answers ({path}).",
        "Check that the driver is still loaded. Another sensor is used instead.",
    )
