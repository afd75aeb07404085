"""Count every byte that the camera loop writes to memory.

The program runs under QEMU in user mode with a plugin (``store_plugin.c``) that is called for each store instruction.
So every store is counted, also inside NumPy, libc or a driver's library. Counting pauses during the runtime's
``invoke``, so the counts contain everything except the runtime's own work.

The bytes of each frame are counted in three groups:

- bytes inside the tensors (``regions``);
- ``buffers``: runs of at least ``MIN_BUFFER_BYTES`` consecutive bytes outside the tensors that were all written in one
  frame. Every copy of a plane, tensor or frame leaves such runs;
- ``objects``: shorter runs, which are mostly reference counts and small objects that Python writes all the time.

``count_stores("package.module:function", "argument", ...)`` calls this function in the emulated process. The function
must return a ``MeasuredLoop``. The program needs ``qemu-user`` (apt) and a C compiler.
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

#: The minimum number of consecutive bytes that count as a buffer. Python's small objects have at most 512 bytes, so
#: they are not counted. The C stack of a foreign call can be larger and is then counted.
MIN_BUFFER_BYTES = 1024
_PAGE = 4096
# The number of a system call that does not exist, with which the program sends requests to the plugin, and the
# requests.
_MARK, _BEGIN, _END, _PAUSE, _RESUME, _WATCH = 41500, 1, 2, 3, 4, 5
_SOURCE = Path(__file__).with_name("store_plugin.c")
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
    """The program to measure.

    Args:
        run: a function; ``run(count, after)`` processes ``count`` frames and calls ``after`` after each frame.
        regions: the address and the size in bytes of each tensor, by name.
        runtime: the runtime whose ``invoke`` is not counted.
    """

    run: Callable[[int, Callable[[], None]], None]
    regions: dict[str, tuple[int, int]]
    runtime: Runtime | None = None


@dataclass(frozen=True)
class StoreRun:
    """A run of consecutive written bytes outside the tensors. ``start`` is its address. ``where`` is the name of the
    mapped file at this address, or "memory". ``by`` is the file with the code that wrote there last."""

    start: int
    bytes: int
    where: str
    by: str


@dataclass(frozen=True)
class StoreCounts:
    """The number of bytes that were written in one frame. ``regions`` has the number for each tensor. Each address
    counts once, except in ``stored``, where every store counts."""

    stored: int
    regions: dict[str, int]
    buffers: int  # bytes outside the tensors, in runs of at least MIN_BUFFER_BYTES
    objects: int  # bytes outside the tensors, in shorter runs
    received: int  # bytes that system calls such as read() wrote into the program's memory
    runs: tuple[StoreRun, ...] = field(repr=False)  # all runs outside the tensors, the longest run first

    @property
    def total(self) -> int:
        """The number of bytes of the frame that the benchmark reports: tensors, buffers, and bytes that system calls
        wrote."""
        return sum(self.regions.values()) + self.buffers + self.received


def count_stores(target: str, *arguments: str, frames: int = 3, warm: int = 3) -> list[StoreCounts]:
    """Return the counts of each of ``frames`` frames, after ``warm`` frames that are not counted.

    Raises ``ToolError`` without QEMU or a C compiler, and if the measured program fails.
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
            raise ToolError(f"{target} failed under QEMU: {last[-1]}", "Run the program without QEMU first.")
        report = json.loads(about.read_text())
        return _frames(out, report["regions"], _Map(report["maps"]))


def median_counts(frames: list[StoreCounts]) -> StoreCounts:
    """Return the counts of the frame with the median total. Emulated frames are slow.
    Many of them therefore contain work that the loop does only once a second. The median frame does not contain it."""
    return sorted(frames, key=lambda frame: frame.total)[len(frames) // 2]


class _Map:
    """Maps addresses to the names of mapped files, from /proc/self/maps."""

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
    """Return the counts of each frame in ``out``, the file that the plugin wrote (store_plugin.c describes it)."""
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
    buffers = sum(run.bytes for run in runs if run.bytes >= MIN_BUFFER_BYTES)
    return StoreCounts(
        stored, inside, buffers, sum(run.bytes for run in runs) - buffers, received, tuple(runs)
    )


def _runs(pages: dict[int, tuple[int, np.ndarray]]) -> list[tuple[int, int]]:
    """Return (start address, size) of each run of written bytes. A run can continue over several pages. ``pages`` maps
    the number of a page to the address of the code that wrote there last, and one value per byte: 1 if it was
    written."""
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
    """Compile the plugin, and return the path of its library."""
    library = folder / f"store-plugin-{hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:8]}.so"
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
            f"{_SOURCE.name} does not compile: {done.stderr.strip()}", "Set CC to another compiler."
        )
    return library


def _child(about: str, target: str, frames: str, warm: str, *arguments: str) -> None:
    """Run the measured program in the emulated process, and write the addresses of its tensors and its memory map to
    the file ``about``. ``warm`` frames are not counted, then ``frames`` frames are counted."""
    call = ctypes.CDLL(None).syscall

    def mark(request: int) -> None:
        call(_MARK, request)

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
