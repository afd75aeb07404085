"""Links a program with a library of models for a microcontroller, without an operating system."""

from __future__ import annotations

import subprocess
from pathlib import Path

from arenite.firmware.boards import cores
from arenite.firmware.boards.families import family_named
from arenite.firmware.boards.linker import linker_script
from arenite.firmware.sources import BOARDS
from arenite.profiles.boards import Board
from tests.firmware.library.libraries import (
    STAND_INS,
    flags,
    sources,
)


def link(library: Path, board: Board, out: Path, *more: str) -> Path:
    """The example with start-up code and a serial port, by the compiler alone."""
    assert board.emulator is not None
    core, family = cores.core_named(board.core), family_named(board.emulator.family)
    support = [core.start, *core.helpers, *family.sources]
    (out / "link.ld").write_text(linker_script(board, 2048))
    command = [
        f"{core.prefix}gcc",
        *core.architecture,
        *cores.COMMON_FLAGS,
        "-O2",
        "-fno-tree-loop-distribute-patterns",
        *(f"-D{name}" for name in family.defines),
        *more,
        *flags(library / "src"),
        *BOARDS.include_flags,
        *map(str, sources(library)),
        str(library / "examples/bare_metal/main.c"),
        str(STAND_INS / "board_mps2.c"),
        *(str(BOARDS.path(name)) for name in support),
        *cores.LINK_FLAGS,
        f"-T{out / 'link.ld'}",
        "-lgcc",
        *("-o", str(out / "program.elf")),
    ]
    subprocess.run(command, check=True, cwd=out)
    return out / "program.elf"
