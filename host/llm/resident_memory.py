"""Find out how much memory this process has taken."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from arenite.errors import ToolError


def resident_bytes() -> int:
    """Return the largest resident set that this process has had. Raises ``ToolError`` where the system does not tell
    (Windows)."""
    try:
        for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        resource: Any = importlib.import_module("resource")
    except ImportError as error:
        raise ToolError(
            "This system does not tell the memory of a process.", "Measure on Linux or macOS."
        ) from error
    largest = int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return largest if sys.platform == "darwin" else largest * 1024
