"""Start a board in Unicorn, a CPU emulator that pip installs, with its serial port as a pair of pipes.

Unicorn has the GNU General Public License, version 2. Therefore it runs in a process of its own, in the program
``unicorn_program/machine.py``, and this package never imports it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import util
from pathlib import Path
from typing import Any

from arenite.errors import ToolError, UsageError
from arenite.host.emulator.emulated_board import EmulatedBoard
from arenite.host.link.pipe_transport import PipeTransport
from arenite.processes import Child, temporary_folder
from arenite.profiles.boards import Board

PROGRAM = Path(__file__).parent / "unicorn_program" / "machine.py"
#: The board families whose devices ``unicorn_program`` emulates.
FAMILIES = ("mps2", "an505", "nrf51", "stm32f4", "riscv_virt")
#: Why Unicorn cannot emulate the other families.
_UNSUPPORTED = {
    "an547": "it does not execute the Helium instructions of the Cortex-M55",
    "riscv_virt_smp": "it emulates only one core",
    "xtensa_sim": "it does not emulate Xtensa cores",
}
STOP_TIMEOUT_S = 5.0


def is_installed() -> bool:
    """Return whether the package ``unicorn`` is installed. It is not imported."""
    return util.find_spec("unicorn") is not None


def unsupported_reason(board: Board) -> str | None:
    """Return why Unicorn cannot emulate ``board``, as a part of a sentence; None if it can."""
    if board.emulator is None:
        return "it is a real board"
    if board.rtl is not None:
        return "the RTL of its core is simulated by Verilator"
    if board.emulator.family in FAMILIES:
        return None
    return _UNSUPPORTED.get(board.emulator.family, "it does not have the devices of this board")


def describe(board: Board, elf: Path) -> dict[str, Any]:
    """Return the description of ``board`` with the firmware ``elf``, which the program takes as its argument.

    Raises:
        UsageError: Unicorn cannot emulate the board, or the file does not exist.
        ToolError: the file is not an ELF.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    reason = unsupported_reason(board)
    if reason is not None or board.emulator is None:
        raise UsageError(
            f"Unicorn cannot emulate {board.name}: {reason}.", "Install QEMU, and use --emulator qemu."
        )
    try:
        with elf.open("rb") as stream:
            segments = [
                (s["p_paddr"], s["p_offset"], s["p_filesz"])
                for s in ELFFile(stream).iter_segments()
                if s["p_type"] == "PT_LOAD" and s["p_filesz"]
            ]
    except FileNotFoundError as error:
        raise UsageError(f"The firmware {elf} does not exist.", "Build it with `arenite build`.") from error
    except (OSError, ELFError) as error:
        raise ToolError(f"Cannot read {elf}: {error}.", "Build the project again.") from error
    emulator = board.emulator
    memory = [board.flash[0], *board.ram]
    return {
        "elf": str(Path(elf).absolute()),
        "segments": segments,
        "memory": [(region.origin, region.size) for region in memory],
        "core": board.core,
        "devices": emulator.family,
        "ticks": (emulator.ticks_numerator, emulator.ticks_denominator),
        "ns": 1 << emulator.icount_shift,
    }


@contextmanager
def start_unicorn(board: Board, elf: Path) -> Iterator[EmulatedBoard]:
    """Run ``elf`` on the emulated ``board`` until the block ends.

    Raises:
        ToolError: Unicorn is not installed.
        UsageError: Unicorn cannot emulate the board, or the file does not exist.
    """
    description = describe(board, elf)
    if not is_installed():
        raise ToolError("The emulator Unicorn is not installed.", "Install it: pip install 'arenite[bench]'")
    command = [sys.executable, str(PROGRAM), json.dumps(description)]
    with temporary_folder("arenite-") as folder, (folder / "messages.txt").open("wb") as messages:
        process = Child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages)
        transport = PipeTransport(process, f"{board.name} in Unicorn")
        try:
            yield EmulatedBoard(board, transport)
        finally:
            transport.close()
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdout is not None
            process.stdout.close()
