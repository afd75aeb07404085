"""Anomaly heads for tests: the C code compiled with strict warnings and checks for undefined behavior."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from arenite.converters.anomaly import native
from arenite.converters.anomaly.c_sources import ANOMALY

_STRICT = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion", "-Wshadow")


@cache
def checked_code() -> ctypes.CDLL:
    """Return the C code with checks for undefined behavior, which end the process."""
    shipped = native.library()
    assert shipped is not None, "there is no C compiler"
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "anomaly.so"
        sources = [str(path) for path in ANOMALY.paths(".c")]
        checks = ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
        subprocess.run(
            ["gcc", *_STRICT, *checks, "-fPIC", "-shared", *sources, "-o", str(target)], check=True
        )
        code = ctypes.CDLL(str(target))
    for name in ("score", "threshold", "update", "teach", "classify", "reset", "forget", "difference"):
        getattr(code, f"ar_anomaly_{name}").restype = getattr(shipped, f"ar_anomaly_{name}").restype
    return code
