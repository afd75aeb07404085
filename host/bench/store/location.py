"""The path of the store of bench results."""

from __future__ import annotations

import os
from pathlib import Path

#: A folder of this name, in the working folder or above it, stores a project's results beside its sources.
FOLDER, FILE = ".arenite", "bench.sqlite"


def store_path(named: Path | None = None) -> Path:
    """``named``; else ``$ARENITE_STORE``; else that of the nearest ``.arenite`` folder; else the user's own.

    The user's own is ``$XDG_DATA_HOME/arenite/bench.sqlite``, by default below ``~/.local/share``.
    """
    if named is not None:
        return named
    configured = os.environ.get("ARENITE_STORE")
    if configured:
        return Path(configured).expanduser()
    working = Path.cwd()
    for folder in (working, *working.parents):
        if (folder / FOLDER).is_dir():
            return folder / FOLDER / FILE
    data = os.environ.get("XDG_DATA_HOME")
    base = Path(data).expanduser() if data else Path.home() / ".local" / "share"
    return base / "arenite" / FILE
