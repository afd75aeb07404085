"""Choose the emulator of a board: QEMU if it is installed, otherwise Unicorn; Verilator for a board that is simulated
from the RTL of its core."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arenite.errors import ToolError, UsageError
from arenite.host.emulator import unicorn_machine
from arenite.host.emulator.emulated_board import EmulatedBoard
from arenite.host.emulator.machine import QEMU_PACKAGES, start
from arenite.host.emulator.rtl.simulator import require_verilator
from arenite.host.emulator.unicorn_machine import start_unicorn, unsupported_reason
from arenite.profiles.boards import Board

QEMU, UNICORN, VERILATOR = "qemu", "unicorn", "verilator"
#: The emulators that a user can choose.
EMULATORS = (QEMU, UNICORN)
_INSTALL_UNICORN = "pip install 'arenite[bench]'"


def choose_emulator(board: Board, requested: str | None) -> tuple[str, str | None]:
    """Return the emulator, and the sentence that tells why it replaces QEMU (None if QEMU is used, or was not asked
    for).

    ``requested`` is the user's choice, or None.

    Raises:
        UsageError: the board is real, or the requested emulator cannot emulate it.
        ToolError: the emulator is not installed.
    """
    if board.emulator is None:
        raise UsageError(f"{board.name} is a real board.", "Leave out --emulator, or choose a qemu_* board.")
    if board.rtl is not None and requested is None:
        require_verilator()
        return VERILATOR, None
    if requested not in (None, *EMULATORS):
        raise UsageError(f"'{requested}' is not an emulator.", f"Choose one of {', '.join(EMULATORS)}.")
    program = f"qemu-system-{board.emulator.system}"
    install_qemu = f"apt install {QEMU_PACKAGES.get(board.emulator.system, program)}"
    reason = unsupported_reason(board)
    if requested == UNICORN:
        if reason is not None:
            raise UsageError(
                f"Unicorn cannot emulate {board.name}: {reason}.", "Install QEMU, and use --emulator qemu."
            )
        if not unicorn_machine.is_installed():
            raise ToolError("The emulator Unicorn is not installed.", f"Install it: {_INSTALL_UNICORN}")
        return UNICORN, None
    if shutil.which(program) is not None:
        return QEMU, None
    if requested == QEMU or reason is not None:
        instead = "" if reason is None else f" Unicorn cannot replace it: {reason}."
        raise ToolError(f"The emulator {program} is not installed.{instead}", f"Install it: {install_qemu}")
    if not unicorn_machine.is_installed():
        raise ToolError(
            f"The emulator {program} is not installed.",
            f"Install it: {install_qemu}. Without root: {_INSTALL_UNICORN}",
        )
    return UNICORN, f"Unicorn emulated the board, because {program} is not installed."


@contextmanager
def start_emulator(board: Board, elf: Path, emulator: str) -> Iterator[EmulatedBoard]:
    """Run ``elf`` on the emulated ``board`` in ``emulator`` until the block ends.

    Raises:
        ToolError: the emulator is not installed or does not start.
        UsageError: it cannot emulate the board, or the file does not exist.
    """
    if emulator == UNICORN:
        with start_unicorn(board, elf) as machine:
            yield machine
        return
    with start(board, elf) as running:
        yield EmulatedBoard(board, running.transport)
