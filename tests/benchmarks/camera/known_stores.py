"""Programs that store (write to memory) a known number of bytes. The tests of the store counter run them in the
emulator and compare the counts with these numbers."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

import numpy as np

from benchmarks.camera.store_counter import MeasuredLoop

#: The numbers of bytes that the program copies, writes to a part of a region, and reads from a file, per frame.
COPIED, PART, READ = 100_000, 1_234, 5_000


def known() -> MeasuredLoop:
    """Return a program that, for each frame, writes ``PART`` bytes of a region and the first 8 of these bytes again,
    copies ``COPIED`` bytes, and reads ``READ`` bytes from a file into memory. Its ``invoke`` also writes, but the
    counter must ignore writes during ``invoke``."""
    region, source, target = (np.ones(COPIED, np.uint8) for _ in range(3))
    file = os.memfd_create("file")
    os.write(file, bytes(READ))
    received = memoryview(bytearray(READ))

    class Runtime:
        def invoke(self, slot: int = 0) -> None:
            np.copyto(target, source)
            ctypes.memset(region.ctypes.data + 50_000, 2, 40_000)
            os.preadv(file, [received], 0)

    runtime = Runtime()
    region_address, target_address = region.ctypes.data, target.ctypes.data
    library = ctypes.CDLL(None)

    def run(count: int, end_frame: Callable[[], None]) -> None:
        for _ in range(count):
            ctypes.memset(region_address + 100, 3, PART)
            ctypes.memset(region_address + 100, 3, 8)
            runtime.invoke()
            ctypes.memmove(target_address, source.ctypes.data, COPIED)
            library.pread(file, ctypes.c_char_p(bytes(READ)), ctypes.c_size_t(READ), ctypes.c_long(0))
            end_frame()

    regions = {"region": (region_address, COPIED), "never": (source.ctypes.data, COPIED)}
    return MeasuredLoop(run, regions, runtime)  # type: ignore[arg-type]


def fails() -> MeasuredLoop:
    """Raise an error in the emulated process."""
    raise RuntimeError("no such camera")
