"""Where the headers of the chips' vendors and of C libraries are; a folder that does not exist if nothing says so."""

from __future__ import annotations

import os
from pathlib import Path

HEADERS = Path(os.environ.get("ARENITE_DRIVER_HEADERS", "/nonexistent"))
NEWLIB = Path(os.environ.get("ARENITE_NEWLIB", "/nonexistent"))
PICOLIBC = Path(os.environ.get("ARENITE_PICOLIBC", "/nonexistent"))
