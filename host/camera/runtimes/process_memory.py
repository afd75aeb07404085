"""Allocate aligned buffers, and measure the memory of this process: resident bytes, allocations, and mapped files."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from arenite.c_library import c_library
from arenite.errors import ModelError
from arenite.host.camera.runtimes.base import TensorMemory

#: The alignment in bytes of a cache line and of AVX-512. If memory has a smaller alignment, LiteRT and ONNX Runtime
#: copy it.
ALIGNMENT = 64


def aligned_bytes(size: int) -> np.ndarray:
    """Return zeroed memory as uint8, shape (size,), that starts at a multiple of 64. The memory is freed when
    the array and all views of it are gone."""
    raw = np.zeros(max(size, 1) + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size]


def resident_bytes() -> int:
    """Return the bytes of private (anonymous) memory of this process that are in RAM; 0 if /proc is missing."""
    try:
        with open("/proc/self/status", "rb") as file:
            for line in file:
                if line.startswith(b"RssAnon:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


class _Mallinfo2(ctypes.Structure):
    """The structure mallinfo2 of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks",
                     "keepcost")
    ]  # fmt: skip


@cache
def _mallinfo2() -> Callable[[], _Mallinfo2] | None:
    """Return the function ``mallinfo2`` of glibc 2.33 and later; None on other systems."""
    function = getattr(c_library(), "mallinfo2", None)
    if function is not None:
        function.restype = _Mallinfo2
    return function


def allocated_bytes() -> int:
    """Return the number of bytes that were allocated and not freed. Its growth while a model is opened is the size of
    the model.

    If the allocator has no statistics, return ``resident_bytes`` instead. This is less exact: a model that reuses the
    memory of another model adds few pages, and on a fragmented heap each small allocation can add a page.
    """
    mallinfo2 = _mallinfo2()
    if mallinfo2 is None:
        return resident_bytes()
    info = mallinfo2()
    return int(info.uordblks) + int(info.hblkhd)


def mapped_bytes(path: Path) -> int:
    """Return the number of bytes of the file ``path`` that are mapped into this process."""
    target = os.path.realpath(path)
    total = 0
    try:
        with open("/proc/self/maps") as file:
            for line in file:
                parts = line.split(None, 5)
                if len(parts) == 6 and parts[5].rstrip("\n") == target:
                    first, last = parts[0].split("-")
                    total += int(last, 16) - int(first, 16)
    except OSError:
        return 0
    return total


def copy_tensor(source: TensorMemory, target: int) -> None:
    """Copy a tensor to the address ``target``."""
    ctypes.memmove(target, source.address, source.bytes)


def parse_shape(text: str) -> tuple[int, ...]:
    """Parse a shape such as ``1x192x192x3``. Raises ``ModelError``."""
    try:
        shape = tuple(int(part) for part in text.lower().split("x"))
    except ValueError:
        shape = ()
    if not shape or min(shape) < 1 or len(shape) > 8:
        raise ModelError(f"'{text}' is not the shape of an input.", "Give its sizes, such as 1x192x192x3.")
    return shape
