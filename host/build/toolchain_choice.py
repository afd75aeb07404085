"""Choose the compiler of an emulated board's firmware: gcc if it is installed, otherwise zig."""

from __future__ import annotations

from arenite.errors import ToolError
from arenite.firmware.boards.cores import core_named
from arenite.firmware.boards.toolchains import GCC, ZIG, compiler_flags, is_installed
from arenite.firmware.sizes.targets import ZIG_TARGETS, require_toolchain
from arenite.profiles.board import Board


def choose_toolchain(board: Board, requested: str | None) -> tuple[str, str | None]:
    """Return the toolchain, and a sentence on why it replaces gcc (None if gcc is used, or if the user chose the
    toolchain).

    ``requested`` is the user's choice, or None. A real board's firmware is built by PlatformIO with the compiler of the
    board's framework, which counts as gcc.

    Raises:
        UsageError: the requested toolchain does not build for the board.
        ToolError: the toolchain is not installed.
    """
    if requested is not None:
        require_toolchain(board, requested)
    if not board.emulated:
        return GCC, None
    core = core_named(board.core)
    if requested is not None:
        if not is_installed(core, requested):
            flags = compiler_flags(core, requested)
            raise ToolError(f"The compiler {flags.compiler} is missing.", f"Install it: {flags.install}")
        return requested, None
    if is_installed(core, GCC):
        return GCC, None
    gcc = compiler_flags(core, GCC)
    if board.name not in ZIG_TARGETS:
        raise ToolError(
            f"The compiler {gcc.compiler} is missing, and zig does not build firmware for {board.name}.",
            f"Install it: {gcc.install}",
        )
    if not is_installed(core, ZIG):
        raise ToolError(
            f"The compiler {gcc.compiler} is missing.",
            f"Install it: {gcc.install}. Without root: {compiler_flags(core, ZIG).install}",
        )
    return ZIG, f"zig compiled the firmware, because {gcc.compiler} is not installed."
