"""The time of the server and of agents. Tests and simulations give another clock than that of the computer."""

from __future__ import annotations

import struct
import time
from pathlib import Path
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Return the Unix time in milliseconds."""
        ...


class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


class FileClock:
    """A clock whose time another process writes to a file with ``FileClock.write``. The processes of a simulation
    share it."""

    _TIME = struct.Struct("<Q")

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)

    def now_ms(self) -> int:
        self._file.seek(0)
        value: int = self._TIME.unpack(self._file.read(self._TIME.size))[0]
        return value

    @classmethod
    def write(cls, path: Path, now_ms: int) -> None:
        """Set the time. The file keeps its identity, so that open clocks see the new time."""
        with path.open("r+b" if path.exists() else "wb", buffering=0) as file:
            file.write(cls._TIME.pack(now_ms))
