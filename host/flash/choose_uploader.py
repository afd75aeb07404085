"""List all uploaders by name, and choose one for a board."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.errors import ToolError, UsageError
from arenite.host.flash.upload import Uploader
from arenite.host.flash.uploaders import (
    copy,
    dfu,
    esptool,
    gdb,
    jlink,
    openocd,
    platformio,
    pyocd,
    stlink,
    uf2,
)
from arenite.profiles.boards import Board

UPLOADERS: dict[str, Uploader] = {
    tool.name: tool
    for tool in (
        platformio.UPLOADER,
        esptool.UPLOADER,
        stlink.UPLOADER,
        openocd.UPLOADER,
        pyocd.UPLOADER,
        jlink.UPLOADER,
        dfu.UPLOADER,
        uf2.UPLOADER,
        copy.UPLOADER,
        gdb.UPLOADER,
    )
}
#: Uploaders that work with any board, even if its profile does not name them.
ANY_BOARD_UPLOADERS = ("gdb",)
#: The tools that accept the serial number of a debug probe, and the tools that accept further arguments.
TAKE_PROBE = ("stlink", "openocd", "pyocd", "jlink", "dfu")
TAKE_EXTRA = ("platformio", "esptool", *TAKE_PROBE)


def reject_unused(board: Board, tool: str, probe: str | None, extra: Sequence[str]) -> None:
    """Raise UsageError if ``tool`` would ignore ``probe`` or ``extra``."""
    for option, value, accepting_tools in (("--probe", probe, TAKE_PROBE), ("--extra", extra, TAKE_EXTRA)):
        if value and tool not in accepting_tools:
            suitable_tools = [name for name in board.upload_tools if name in accepting_tools]
            raise UsageError(
                f"'{tool}' does not accept {option}.",
                f"Remove it, or choose --tool {' or '.join(suitable_tools)}."
                if suitable_tools
                else "Remove it.",
            )


def choose(board: Board, tool: str | None = None, *, installed: bool = True) -> Uploader:
    """Return the uploader ``tool``. If ``tool`` is None, return the first uploader in the board's profile that is
    installed. If ``installed`` is false, uploaders that are not installed are also returned.

    Raises:
        UsageError: the board is emulated and accepts only gdb, or its profile does not list ``tool``.
        ToolError: none of the tools is installed.
    """
    profile_tools = [name for name in board.upload_tools if name in UPLOADERS]
    allowed_tools = [*profile_tools, *(name for name in ANY_BOARD_UPLOADERS if name not in profile_tools)]
    if tool is not None and tool not in allowed_tools:
        raise UsageError(
            f"'{tool}' cannot upload to {board.name}.", f"Choose one of: {', '.join(allowed_tools)}."
        )
    if tool is None and not profile_tools:
        raise UsageError(f"{board.name} has no uploader that Arenite supports.", "Use the vendor's tool.")
    for name in [tool] if tool else profile_tools:
        if not installed or UPLOADERS[name].missing() is None:
            return UPLOADERS[name]
    missing = UPLOADERS[tool or profile_tools[0]]
    raise ToolError(f"The uploader {missing.name} is not installed.", f"Install it: {missing.missing()}")
