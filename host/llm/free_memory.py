"""Find out how much memory this computer has free."""

from __future__ import annotations

import re
from pathlib import Path


def available_bytes(root: str | Path = "/") -> int | None:
    """Return the bytes that programs can take without swapping (``MemAvailable`` of Linux), or None where the system
    does not tell. ``root`` is the root of the file system."""
    try:
        text = (Path(root) / "proc/meminfo").read_text("ascii", "replace")
    except OSError:
        return None
    found = re.search(r"^MemAvailable: +(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None
