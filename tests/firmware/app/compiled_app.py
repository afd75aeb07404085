"""Compile C files of applications for this computer."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path

from arenite.firmware.sources import APP

_WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror")


def compiled(
    folder: Path, names: list[str], code: str, headers: dict[str, str], objects: Sequence[Path] = ()
) -> ctypes.CDLL:
    """Return the functions of the C files ``names`` and of ``code``, compiled in ``folder`` with ``headers``, and of
    the object files ``objects``."""
    for name, text in (headers | {"code.c": code}).items():
        (folder / name).write_text(text)
    command = ["gcc", *_WARNINGS, "-O2", "-shared", "-fPIC", "-I.", *APP.include_flags]
    sources = [*(str(APP.path(name)) for name in names), *map(str, objects)]
    subprocess.run([*command, "code.c", *sources, "-o", "app.so"], check=True, cwd=folder)
    return ctypes.CDLL(str(folder / "app.so"))
