"""Memory of this process: aligned buffers, how much is resident, which files are mapped."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from arenite.errors import ModelError
from arenite.host.camera.runtimes.base import TensorMemory

#: Of a cache line, of AVX-512, and what LiteRT and ONNX Runtime ask of memory that they shall not copy.
ALIGNMENT = 64


def aligned_bytes(size: int) -> np.ndarray:
    """uint8 [size], zeroed, starting at a multiple of 64; its memory ends with its last view."""
    raw = np.zeros(max(size, 1) + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size]


def resident_bytes() -> int:
    """Private memory of this process that is in RAM: what it would give back. 0 where Linux's /proc is missing."""
    try:
        with open("/proc/self/status", "rb") as file:
            for line in file:
                if line.startswith(b"RssAnon:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


class _Mallinfo2(ctypes.Structure):
    """glibc's struct mallinfo2."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks",
                     "keepcost")
    ]  # fmt: skip


@cache
def _mallinfo2() -> Callable[[], _Mallinfo2] | None:
    """glibc 2.33 and later."""
    function = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if function is not None:
        function.restype = _Mallinfo2
    return function


def allocated_bytes() -> int:
    """What was asked of the allocator and not given back, for a model's size as the growth while it is opened.

    Pages that are in RAM say less: a model whose memory was another's before adds few of them, and one whose small
    pieces fall into the holes of a long-used heap a page for each. Where the allocator cannot tell, they have to do.
    """
    ask = _mallinfo2()
    if ask is None:
        return resident_bytes()
    info = ask()
    return int(info.uordblks) + int(info.hblkhd)


def mapped_bytes(path: Path) -> int:
    """Bytes of ``path`` that are mapped into this process, not read into memory of its own."""
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
    """Copy a tensor to address ``target``."""
    ctypes.memmove(target, source.address, source.bytes)


def parse_shape(text: str) -> tuple[int, ...]:
    """``1x192x192x3`` as numbers. Raises ``ModelError``."""
    try:
        shape = tuple(int(part) for part in text.lower().split("x"))
    except ValueError:
        shape = ()
    if not shape or min(shape) < 1 or len(shape) > 8:
        raise ModelError(f"'{text}' is not the shape of an input.", "Give its sizes, such as 1x192x192x3.")
    return shape
