"""Tell how far an emulator has read the file of its virtual sensor."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path


def wait_until_read(pid: int, name: str, size: int, timeout_s: float = 300.0) -> bool:
    """Wait until process ``pid`` has read its file ``name`` of ``size`` bytes to the end. Return False after
    ``timeout_s``."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # the process has closed this file meanwhile
                if os.readlink(entry).endswith(name):
                    position = Path(f"/proc/{pid}/fdinfo/{entry.name}").read_text().splitlines()[0]
                    if int(position.split()[1]) == size:
                        return True
        time.sleep(0.2)
    return False
