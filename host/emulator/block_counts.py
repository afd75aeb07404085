"""Count how often each basic block of a firmware runs in each layer of one inference, with a plugin inside QEMU.

The plugin's source is ``plugin/blocks.c``. This computer's C compiler compiles it on first use, and the result stays in
the cache. QEMU runs without ``-icount``, so the counts do not depend on the board's timer.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import ToolError
from arenite.processes import run as run_command

_SOURCES = Path(__file__).parent / "plugin"
_FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")


@dataclass(frozen=True)
class Block:
    """Instructions that run one after the other, at addresses from ``start`` to below ``end``."""

    start: int
    end: int


@dataclass(frozen=True)
class BlockRuns:
    """``count``: how often a block ran. ``taken``: how many of these runs ended with a jump. The other runs continued
    with the instruction behind the block. ``misaligned``: how many of these jumps led to a RISC-V instruction of four
    bytes whose address is not a multiple of four."""

    count: int
    taken: int
    misaligned: int = 0

    def __add__(self, other: BlockRuns) -> BlockRuns:
        return BlockRuns(
            self.count + other.count, self.taken + other.taken, self.misaligned + other.misaligned
        )


def compiled_plugin(cache: Path, name: str = "blocks") -> Path:
    """Return the path of the plugin ``name`` as a shared library in ``cache``. Compile it if it does not exist.

    Raises ``ToolError`` if there is no C compiler, or if the compiler fails.
    """
    sources = sorted(_SOURCES.iterdir())
    compiler = os.environ.get("CC", "gcc")
    key = b"".join(path.read_bytes() for path in sources) + compiler.encode()
    library = cache / f"{name}-{hashlib.sha256(key).hexdigest()[:16]}.so"
    if library.exists():
        return library
    temporary = f"{library}.{os.getpid()}"
    command = [compiler, *_FLAGS, str(_SOURCES / f"{name}.c"), "-o", temporary]
    try:
        cache.mkdir(parents=True, exist_ok=True)
        process = run_command(command, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise ToolError(
            f"No C compiler: '{compiler}' is not installed.",
            "Install one (apt install gcc libc6-dev), or set CC.",
        ) from error
    except OSError as error:
        raise ToolError(
            f"Cannot write to the cache {cache}: {error.strerror}.", "Set ARENITE_CACHE."
        ) from error
    if process.returncode:
        lines = process.stderr.splitlines()
        message = next(
            (line for line in lines if "error" in line), lines[0] if lines else "it printed no message"
        )
        raise ToolError(
            f"The host compiler failed: {message}", "The emulator's plugin needs gcc and libc6-dev."
        )
    os.replace(temporary, library)
    return library


@dataclass(frozen=True)
class PhaseRun:
    """The counts of a part of a phase, from its entry or a split to the next split or the phase's end. ``entry`` is the
    position of the phase's entry in ``entries`` of ``plugin_arguments``."""

    entry: int
    counts: dict[Block, BlockRuns]
    split: bool  # True if the run ended at a split


def plugin_arguments(
    library: Path,
    out: Path,
    entries: Sequence[int],
    idle: Sequence[tuple[int, int]],
    split: int | None = None,
    waits: Sequence[tuple[int, int]] = (),
) -> tuple[str, ...]:
    """Return the arguments with which QEMU loads the plugin ``library`` and writes the counts to ``out``.

    A phase begins at each address of ``entries``, ends in the ranges ``idle`` (address, bytes), and is cut into runs
    at the address ``split``. Blocks in the ranges ``waits`` are not counted.
    """
    ranges = ":".join(f"{address:x}:{size:x}" for address, size in idle)
    named = [f"out={out}", "entries=" + ":".join(f"{e:x}" for e in entries), f"idle={ranges}"]
    named += [] if not waits else ["waits=" + ":".join(f"{address:x}:{size:x}" for address, size in waits)]
    named += [] if split is None else [f"split={split:x}"]
    # QEMU splits the list at commas; a comma in a path is written twice.
    return ("-plugin", ",".join(part.replace(",", ",,") for part in (str(library), *named)))


def read_counts(out: Path) -> list[PhaseRun]:
    """Parse the plugin's output and return the runs of all phases, in order.

    Raises ``ToolError`` if the file is not a record of complete runs.
    """
    blocks: dict[int, Block] = {}
    phases: list[PhaseRun] = []
    entry = 0
    counts: dict[Block, BlockRuns] | None = None
    try:
        for line in out.read_text("ascii").splitlines():
            kind, *values = line.split()
            if kind == "P":
                entry, counts = int(values[0]) - 1, {}
            elif kind == "B":
                blocks[int(values[0])] = Block(int(values[1], 16), int(values[2], 16))
            elif kind == "C" and counts is not None:
                # A block that QEMU translated twice has two records.
                block = blocks[int(values[0])]
                count, taken, misaligned = map(int, values[1:])
                counts[block] = counts.get(block, BlockRuns(0, 0)) + BlockRuns(count, taken, misaligned)
            elif kind in ("S", "E") and counts is not None:
                phases.append(PhaseRun(entry, counts, kind == "S"))
                counts = None
            else:
                raise ValueError(line)
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise ToolError(f"The emulator's plugin left no readable counts in {out}.") from error
    if counts is not None or not phases:
        raise ToolError("The emulator's plugin did not record a whole inference.")
    return phases
