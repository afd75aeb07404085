"""All uploaders by name, and the choice of one for a board."""

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
#: Usable for any board, also where its profile does not name them.
ANY_BOARD_UPLOADERS = ("gdb",)
#: The tools that accept the serial number of a debug probe, and those that are programs with further
#: arguments.
TAKE_PROBE = ("stlink", "openocd", "pyocd", "jlink", "dfu")
TAKE_EXTRA = ("platformio", "esptool", *TAKE_PROBE)


def refuse_unused(board: Board, tool: str, probe: str | None, extra: Sequence[str]) -> None:
    """Raises UsageError where ``tool`` would ignore ``probe`` or ``extra``, so that an option is never
    dropped silently."""
    for option, value, takers in (("--probe", probe, TAKE_PROBE), ("--extra", extra, TAKE_EXTRA)):
        if value and tool not in takers:
            able = [name for name in board.upload_tools if name in takers]
            raise UsageError(
                f"'{tool}' does not accept {option}.",
                f"Leave it out, or choose --tool {' or '.join(able)}." if able else "Leave it out.",
            )


def choose(board: Board, tool: str | None = None, *, installed: bool = True) -> Uploader:
    """``tool``, or the first installed tool of the board's profile; with ``installed`` false, the first of
    the profile.

    Raises:
        UsageError: the board is emulated and accepts only gdb, or its profile does not list ``tool``.
        ToolError: none of the tools is installed.
    """
    offered = [name for name in board.upload_tools if name in UPLOADERS]
    known = [*offered, *(name for name in ANY_BOARD_UPLOADERS if name not in offered)]
    if tool is not None and tool not in known:
        raise UsageError(f"'{tool}' cannot upload to {board.name}.", f"Choose one of: {', '.join(known)}.")
    if tool is None and not offered:
        raise UsageError(f"{board.name} has no uploader that Arenite supports.", "Use the vendor's own tool.")
    for name in [tool] if tool else offered:
        if not installed or UPLOADERS[name].missing() is None:
            return UPLOADERS[name]
    missing = UPLOADERS[tool or offered[0]]
    raise ToolError(f"The uploader {missing.name} is not installed.", f"Install it: {missing.missing()}")
