"""Count the bytes that a piece of the camera loop writes to memory, every single one.

The program runs under QEMU in user mode with a plugin (``written.c``) that sees each store instruction: nothing is
sampled or guessed, and a copy inside NumPy, libc or a driver's library counts like one in our own code. Around the
runtime's ``invoke`` counting pauses, so what is left is everything but the runtime's own work.

Of each frame's bytes those that fall into the tensors are told apart from the others. Python itself writes all the
time, reference counts and small objects; what must not be there is a buffer: a run of at least ``RUN`` consecutive
bytes, all written in one frame. A copied plane, tensor or frame makes such runs, however it is copied; ``objects`` has
all the rest, so that nothing hides in small pieces.

``count_stores("package.module:function", "argument", …)`` calls the function in the emulated process; it returns a
``MeasuredLoop``. Needs ``qemu-user`` (apt) and a C compiler.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from arenite.errors import ToolError
from arenite.host.camera.runtimes.base import Runtime

#: Consecutive bytes written in one frame that make a buffer. Python's objects, of at most 512 bytes each in memory of
#: their own, stay below; C's stack under a foreign call does not always, and counts.
RUN = 1024
_PAGE = 4096
_MARK, _BEGIN, _END, _PAUSE, _RESUME, _WATCH = 41500, 1, 2, 3, 4, 5
_SOURCE = Path(__file__).with_name("written.c")
_HEADERS = Path(__file__).parents[2] / "host" / "emulator" / "plugin"
_FLAGS = (
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Werror",
    "-O2",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
)


@dataclass(frozen=True)
class MeasuredLoop:
    """The program to measure. ``run(count, after)`` does ``count`` frames and calls ``after`` behind each;
    ``regions`` are tensors, as address and bytes; ``runtime``: its ``invoke`` is not counted."""

    run: Callable[[int, Callable[[], None]], None]
    regions: dict[str, tuple[int, int]]
    runtime: Runtime | None = None


@dataclass(frozen=True)
class StoreRun:
    """Consecutive bytes outside the regions. ``where``: the mapped file or area; ``by``: the file with the code that
    wrote there last."""

    start: int
    bytes: int
    where: str
    by: str


@dataclass(frozen=True)
class StoreCounts:
    """Counts of one frame, in bytes. Each address counts once, but in ``stored``, where every store counts."""

    stored: int
    regions: dict[str, int]
    buffers: int  # elsewhere, in runs of at least RUN
    objects: int  # elsewhere, in shorter runs
    received: int  # by system calls that read into memory
    runs: tuple[StoreRun, ...] = field(repr=False)  # elsewhere, longest first

    @property
    def total(self) -> int:
        """Return the bytes that count for the loop: tensors, buffers, and copies that the kernel made for it."""
        return sum(self.regions.values()) + self.buffers + self.received


def count_stores(target: str, *arguments: str, frames: int = 3, warm: int = 3) -> list[StoreCounts]:
    """Return the counts of each of ``frames`` frames, after ``warm`` that are not counted.

    Raises ``ToolError`` without QEMU or a C compiler, and when the measured program fails.
    """
    qemu = shutil.which(f"qemu-{platform.machine()}")
    if qemu is None:
        raise ToolError(f"qemu-{platform.machine()} is not installed.", "Install it: apt install qemu-user")
    with tempfile.TemporaryDirectory(prefix="arenite-") as folder:
        out, about = Path(folder) / "stores", Path(folder) / "about.json"
        plugin = _plugin(Path(folder))
        command = [qemu, "-cpu", "max", "-plugin", f"file={plugin},out={out}", sys.executable]
        command += [
            "-m",
            "benchmarks.camera.store_counter",
            str(about),
            target,
            str(frames),
            str(warm),
            *arguments,
        ]
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
        if done.returncode:
            last = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
            raise ToolError(f"{target} failed under QEMU: {last[-1]}", "Run it without QEMU first.")
        report = json.loads(about.read_text())
        return _frames(out, report["regions"], _Map(report["maps"]))


def median_counts(frames: list[StoreCounts]) -> StoreCounts:
    """The frame with the median total. Emulated frames take long, so that what the loop does once a second falls into
    one frame of a few."""
    return sorted(frames, key=lambda frame: frame.total)[len(frames) // 2]


class _Map:
    """Addresses to names, of /proc/self/maps."""

    def __init__(self, text: str) -> None:
        rows = []
        for line in text.splitlines():
            parts = line.split(None, 5)
            first, last = (int(part, 16) for part in parts[0].split("-"))
            rows.append((first, last, Path(parts[5]).name if len(parts) > 5 else "memory"))
        self._rows = sorted(rows)
        self._starts = [row[0] for row in self._rows]

    def name(self, address: int) -> str:
        place = bisect_right(self._starts, address) - 1
        return self._rows[place][2] if place >= 0 and address < self._rows[place][1] else "memory"


def _frames(out: Path, regions: dict[str, tuple[int, int]], names: _Map) -> list[StoreCounts]:
    frames = []
    pages: dict[int, tuple[int, np.ndarray]] = {}
    with out.open() as file:
        for line in file:
            kind, *rest = line.split()
            if kind == "P":
                bits = np.unpackbits(np.frombuffer(bytes.fromhex(rest[3]), np.uint8), bitorder="little")
                pages[int(rest[0], 16)] = (int(rest[2], 16), bits)
                continue
            frames.append(_frame(pages, regions, names, int(rest[0], 16), int(rest[1], 16)))
            pages = {}
    return frames


def _frame(
    pages: dict[int, tuple[int, np.ndarray]],
    regions: dict[str, tuple[int, int]],
    names: _Map,
    stored: int,
    received: int,
) -> StoreCounts:
    inside = dict.fromkeys(regions, 0)
    for name, (address, size) in regions.items():
        for number in range(address // _PAGE, (address + size - 1) // _PAGE + 1):
            if number in pages:
                low, high = max(address - number * _PAGE, 0), min(address + size - number * _PAGE, _PAGE)
                bits = pages[number][1][low:high]
                inside[name] += int(bits.sum())
                bits[:] = 0
    runs = []
    for start, size in _runs(pages):
        writer = pages[(start + size - 1) // _PAGE][0]
        runs.append(StoreRun(start, size, names.name(start), names.name(writer)))
    runs.sort(key=lambda run: -run.bytes)
    buffers = sum(run.bytes for run in runs if run.bytes >= RUN)
    return StoreCounts(
        stored, inside, buffers, sum(run.bytes for run in runs) - buffers, received, tuple(runs)
    )


def _runs(pages: dict[int, tuple[int, np.ndarray]]) -> list[tuple[int, int]]:
    """Start and bytes of each run of written bytes, over the borders of pages."""
    runs: list[tuple[int, int]] = []
    for number in sorted(pages):
        edges = np.flatnonzero(np.diff(pages[number][1].astype(np.int8), prepend=0, append=0))
        for first, last in edges.reshape(-1, 2).tolist():
            start = number * _PAGE + first
            if runs and sum(runs[-1]) == start:
                runs[-1] = (runs[-1][0], runs[-1][1] + last - first)
            else:
                runs.append((start, last - first))
    return runs


def _plugin(folder: Path) -> Path:
    library = folder / f"written-{hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:8]}.so"
    compiler = os.environ.get("CC", "gcc")
    try:
        command = [compiler, *_FLAGS, f"-I{_HEADERS}", str(_SOURCE), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise ToolError(
            f"No C compiler: '{compiler}' is not installed.", "Install gcc, or set CC."
        ) from error
    if done.returncode:
        raise ToolError(
            f"{_SOURCE.name} does not compile: {done.stderr.strip()}", "Try another compiler: set CC."
        )
    return library


def _child(about: str, target: str, frames: str, warm: str, *arguments: str) -> None:
    """In the emulated process."""
    call = ctypes.CDLL(None).syscall

    def mark(what: int) -> None:
        call(_MARK, what)

    module, _, function = target.partition(":")
    subject: MeasuredLoop = getattr(importlib.import_module(module), function)(*arguments)
    last = int(warm) + int(frames)
    done = 0

    def after() -> None:
        nonlocal done
        if int(warm) < done:
            mark(_END)
        done += 1
        if int(warm) < done <= last:
            mark(_BEGIN)

    # The first invocation of a runtime may replace its own ``invoke``.
    subject.run(1, lambda: None)
    mark(_WATCH)
    runtime = subject.runtime
    if runtime is not None:
        invoke = runtime.invoke

        def uncounted(slot: int = 0) -> None:
            mark(_PAUSE)
            invoke(slot)
            mark(_RESUME)

        runtime.invoke = uncounted  # type: ignore[method-assign]
    subject.run(last + 1, after)
    maps = Path("/proc/self/maps").read_text()
    Path(about).write_text(json.dumps({"regions": subject.regions, "maps": maps}))


if __name__ == "__main__":
    _child(*sys.argv[1:])
