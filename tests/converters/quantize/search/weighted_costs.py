"""Cost functions for the tests. They have their own module because worker processes import them by name."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from arenite.converters.quantize.search.outcome import BuildCost
from arenite.converters.tflite.reader import parse


@dataclass(frozen=True)
class FileSizeCosts:
    """Returns the size of the file as flash and the largest activation as RAM.

    If ``log`` is a folder, each call creates a file in it whose name has the time and the process id. Each call takes
    at least ``seconds``.
    """

    log: Path | None = None
    seconds: float = 0.0

    def __call__(self, flatbuffer: bytes) -> tuple[BuildCost, ...]:
        if self.log is not None:
            (self.log / f"{time.monotonic_ns()}-{os.getpid()}").touch()
        time.sleep(self.seconds)
        graph = parse(flatbuffer).main
        ram = max(t.nbytes for t in graph.tensors if t.data is None)
        return (BuildCost("--optimise speed", ram, len(flatbuffer), 1000),)


@dataclass(frozen=True)
class CrashingCosts:
    """Ends every process except ``parent`` without an exception, as the operating system does if memory is
    short."""

    parent: int

    def __call__(self, flatbuffer: bytes) -> tuple[BuildCost, ...]:
        if os.getpid() != self.parent:
            os._exit(9)
        return FileSizeCosts()(flatbuffer)
