"""Kernels that run from RAM: the boards that support it, and the attributes that place functions in a section.

On an emulated board, the linker script places the object files of the kernels (linker.py). On a real board, the linker
script is the framework's, and it places sections with certain names. So the generator adds an attribute to each
function in the project's copies of the kernels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from arenite.errors import UsageError
from arenite.firmware.boards.toolchains import GCC
from arenite.profiles.board import Board

#: The beginning of a function's definition, from its first word to its opening brace. The sources have the format of
#: clang-format: the definition of a function begins at the start of a line.
_DEFINITION = re.compile(
    r'^(?!typedef\b|struct\b|enum\b|union\b)(?=[A-Za-z_])[^;{}=#"]*?\)\s*\{', re.MULTILINE
)
_NAME = re.compile(r"\b(?!__attribute__\b)(\w+)\s*\(")


def has_code_in_ram(board: Board) -> bool:
    """Return whether the kernels can run from RAM on ``board``.

    The instruction memory of an Xtensa core has its own addresses, from which it reads words only.
    """
    return bool(board.ram[0].code_section) or (board.emulated and not board.core.startswith("xtensa"))


def require_code_in_ram(board: Board, toolchain: str) -> None:
    """Raise ``UsageError`` if the kernels cannot run from RAM on ``board``, or if ``toolchain`` is not gcc: it is not
    known what other linkers add for calls between flash and RAM."""
    if not has_code_in_ram(board):
        raise UsageError(
            f"--code-in-ram is not for {board.name}: Arenite does not know how to place its code in RAM.",
            "Leave out --code-in-ram. `arenite fit MODEL --code-in-ram` shows the boards that have it.",
        )
    if toolchain != GCC:
        raise UsageError(
            f"--code-in-ram is not for --toolchain {toolchain}: the sizes of calls from flash to RAM are unknown.",
            "Leave out one of the two options.",
        )


def place_in_ram(files: Mapping[str, str], board: Board, toolchain: str) -> dict[str, str]:
    """Return the text of the kernels in ``files`` for a project of ``board`` in which they run from RAM.

    Raises ``UsageError`` as ``require_code_in_ram`` does.
    """
    require_code_in_ram(board, toolchain)
    section = board.ram[0].code_section
    return {name: place_functions(text, section) if section else text for name, text in files.items()}


def place_functions(text: str, section: str) -> str:
    """Return the C source or header ``text`` with every function in a section of its own, called ``section`` with the
    function's name as ending, so that the linker can still remove functions that nothing calls."""

    def place(definition: re.Match[str]) -> str:
        name = _NAME.search(definition[0])
        assert name is not None, definition[0]
        return f'__attribute__((section("{section}.{name[1]}"))) {definition[0]}'

    return _DEFINITION.sub(place, text)
