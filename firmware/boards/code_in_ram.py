"""Place the functions of the kernels in a linker section that start-up code copies to RAM.

Kernels are written without such attributes. The generator adds them to the copies of the sources in a project, so the
same sources run from flash or from RAM, with every linker script that copies code to RAM.
"""

from __future__ import annotations

import re

from arenite.errors import UsageError
from arenite.firmware.boards.toolchains import GCC
from arenite.profiles.board import Board

#: The beginning of a function's definition, from its first word to its opening brace. Sources have the format of
#: clang-format: the definition of a function begins at the start of a line.
_DEFINITION = re.compile(r'^(?!typedef\b|struct\b|enum\b|union\b)(?=[A-Za-z_])[^;{}=#"]*?\)\s*\{', re.MULTILINE)
_NAME = re.compile(r"\b(?!__attribute__\b)(\w+)\s*\(")


def code_section(board: Board, toolchain: str = GCC) -> str:
    """Return the linker section from which the firmware of ``board`` copies code to RAM.

    Raises ``UsageError`` if there is none, or if ``toolchain`` is not gcc: the sizes of what other linkers add to calls
    between flash and RAM are not known.
    """
    if not board.ram[0].code_section:
        raise UsageError(
            f"--code-in-ram does not build firmware for {board.name}: its profile names no section for code in RAM.",
            "Leave out --code-in-ram. `arenite fit MODEL --code-in-ram` lists the boards that it builds for.",
        )
    if toolchain != GCC:
        raise UsageError(
            f"--code-in-ram is not for --toolchain {toolchain}: the sizes of its calls between flash and RAM are unknown.",
            "Leave out one of the two options.",
        )
    return board.ram[0].code_section


def place_functions(text: str, section: str) -> str:
    """Return the C source or header ``text`` with every function in a section of its own, called ``section`` with the
    function's name as ending. The linker can still remove functions that nothing calls."""

    def place(definition: re.Match[str]) -> str:
        name = _NAME.search(definition[0])
        assert name is not None, definition[0]
        return f'__attribute__((section("{section}.{name[1]}"))) {definition[0]}'

    return _DEFINITION.sub(place, text)
