"""How often each basic block of a firmware runs in each layer of one inference, counted by a plugin inside QEMU.

The plugin's source is ``plugin/blocks.c``; it is compiled by this computer's C compiler the first time that it is
needed, and kept in the cache. It counts without ``-icount`` and so independently of the board's timer.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from arenite.converters.errors import ToolError

_SOURCES = Path(__file__).parent / "plugin"
_FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")


@dataclass(frozen=True)
class Block:
    """Instructions that run one after the other: ``start`` ≤ address < ``end``."""

    start: int
    end: int


@dataclass(frozen=True)
class Runs:
    """``count``: how often a block ran; ``taken``: after how many of these it went on elsewhere than right behind."""

    count: int
    taken: int


def compiled_plugin(cache: Path) -> Path:
    """The plugin as a shared library in ``cache``, built unless it is there.

    Raises ``ToolError`` without a C compiler, or when it fails.
    """
    sources = sorted(_SOURCES.iterdir())
    compiler = os.environ.get("CC", "gcc")
    key = b"".join(path.read_bytes() for path in sources) + compiler.encode()
    library = cache / f"blocks-{hashlib.sha256(key).hexdigest()[:16]}.so"
    if library.exists():
        return library
    temporary = f"{library}.{os.getpid()}"
    command = [compiler, *_FLAGS, str(_SOURCES / "blocks.c"), "-o", temporary]
    try:
        cache.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise ToolError(
            f"No C compiler: '{compiler}' is not installed.",
            "Install one (apt install gcc libc6-dev), or set CC.",
        ) from error
    except OSError as error:
        raise ToolError(
            f"Cannot write to the cache {cache}: {error.strerror}.", "Set ARENITE_CACHE."
        ) from error
    if done.returncode:
        lines = done.stderr.splitlines()
        message = next((line for line in lines if "error" in line), lines[0] if lines else "it said nothing")
        raise ToolError(
            f"The host compiler failed: {message}", "The emulator's plugin needs gcc and libc6-dev."
        )
    os.replace(temporary, library)
    return library


def plugin_arguments(
    library: Path, out: Path, entries: Sequence[int], idle: tuple[int, int]
) -> tuple[str, ...]:
    """QEMU's arguments to count into ``out``: a phase per address of ``entries``, none in ``idle`` (address, bytes)."""
    named = [f"out={out}", "entries=" + ":".join(f"{e:x}" for e in entries), f"idle={idle[0]:x}:{idle[1]:x}"]
    # QEMU splits the list at commas; one in a path is written twice.
    return ("-plugin", ",".join(part.replace(",", ",,") for part in (str(library), *named)))


def read_counts(out: Path, phases: int) -> list[dict[Block, Runs]]:
    """What the plugin wrote: per phase (one for each entry) every block that ran.

    Raises ``ToolError`` when a phase was never reached or the file is cut short.
    """
    known: dict[int, Block] = {}
    found: list[dict[Block, Runs] | None] = [None] * phases
    current: dict[Block, Runs] | None = None
    try:
        for line in out.read_text("ascii").splitlines():
            kind, *values = line.split()
            if kind == "P":
                # A phase that ran again (a warm-up before it) counts as it ran last.
                current = found[int(values[0]) - 1] = {}
            elif kind == "B":
                known[int(values[0])] = Block(int(values[1], 16), int(values[2], 16))
            elif kind == "C":
                assert current is not None
                # A block that QEMU translated twice has two records.
                block = known[int(values[0])]
                old = current.get(block, Runs(0, 0))
                current[block] = Runs(old.count + int(values[1]), old.taken + int(values[2]))
            else:
                current = None
    except (OSError, ValueError, KeyError, IndexError, AssertionError) as error:
        raise ToolError(f"The emulator's plugin left no readable counts in {out}.") from error
    if current is not None or any(phase is None for phase in found):
        raise ToolError("The emulator's plugin did not see every layer run.")
    return [phase for phase in found if phase is not None]
