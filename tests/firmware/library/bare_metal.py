"""Link a program with a library of models for a microcontroller without an operating system."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from arenite.firmware.boards import cores
from arenite.firmware.boards.families import family_named
from arenite.firmware.boards.linker import linker_script
from arenite.firmware.sources import BOARDS
from arenite.host.emulator.machine import start
from arenite.profiles.boards import Board
from tests.firmware.library.libraries import STAND_INS, flags, sources


def link(library: Path, board: Board, out: Path, *extra_flags: str) -> Path:
    """Link the bare-metal example with start-up code and a serial port, and return the path of the ELF."""
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
        *extra_flags,
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


def run_program(
    board: Board, elf: Path, inputs: bytes, line_count: int, timeout_s: float = 120.0
) -> list[list[int]]:
    """Run ``elf`` in the emulator, send it ``inputs``, and return the numbers in its first ``line_count`` lines of
    output.

    The program prints an empty line first, when its serial port is ready.
    """
    with start(board, elf) as machine:
        output, end = b"", time.monotonic() + timeout_s

        def read_lines(count: int) -> None:
            nonlocal output
            while output.count(b"\n") < count and time.monotonic() < end:
                output += machine.transport.read(1.0)

        read_lines(1)
        for begin in range(0, len(inputs), 1024):  # in parts, because emulation on a busy computer is slow
            machine.transport.write(inputs[begin : begin + 1024])
        read_lines(1 + line_count)
    return [[int(word) for word in line.split()] for line in output.decode().split("\n")[1 : 1 + line_count]]
