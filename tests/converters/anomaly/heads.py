"""Anomaly heads for tests: the C code compiled with strict warnings and checks for undefined behavior."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from arenite.converters.anomaly import native
from arenite.converters.processing.native.c_sources import PROCESSING

_STRICT = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion", "-Wshadow")


@cache
def checked_code() -> ctypes.CDLL:
    """Return the C code with checks for undefined behavior, which end the process."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "anomaly.so"
        sources = [str(PROCESSING.path(name)) for name in ("anomaly.c", "low_rank.c", "prototypes.c")]
        checks = ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
        subprocess.run(
            ["gcc", *_STRICT, *checks, "-fPIC", "-shared", *sources, "-o", str(target)], check=True
        )
        code = ctypes.CDLL(str(target))
    return native.with_types(code)
