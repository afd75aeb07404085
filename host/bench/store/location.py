"""Find the store of bench results, an SQLite file."""

from __future__ import annotations

import os
from pathlib import Path

#: If the working folder or a folder above it contains a folder with the first name, the results are stored there, in a
#: file with the second name.
FOLDER, FILE = ".arenite", "bench.sqlite"


def store_path(path: Path | None = None) -> Path:
    """Return the path of the store.

    It is the first of: ``path``, ``$ARENITE_STORE``, ``bench.sqlite`` in the nearest ``.arenite`` folder, and
    ``$XDG_DATA_HOME/arenite/bench.sqlite``, where the default of ``XDG_DATA_HOME`` is ``~/.local/share``.
    """
    if path is not None:
        return path
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
