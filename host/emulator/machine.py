"""Start a board in QEMU, with its serial port as a pseudo-terminal.

QEMU checks a pseudo-terminal that no program has opened only once per second. To avoid this wait, the port is opened
while QEMU waits in ``--preconfig``, before the machine exists. ``-icount`` gives every instruction the same virtual
time, so the board's own timer counts instructions.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import ToolError, UsageError
from arenite.host.link.transport import SerialTransport
from arenite.processes import Child
from arenite.profiles.boards import Board

#: The Debian package of QEMU for each system.
QEMU_PACKAGES = {"arm": "qemu-system-arm", "riscv32": "qemu-system-misc", "xtensa": "qemu-system-misc"}
_PORT = re.compile(rb"char device redirected to (\S+)")
_LEAVE_PRECONFIG = b'{"execute": "qmp_capabilities"} {"execute": "x-exit-preconfig"}\n'


@dataclass
class RunningEmulator:
    """A running emulated board. ``transport`` is its open serial port, ``port`` the path of that port."""

    board: Board
    process: subprocess.Popen[bytes]
    transport: SerialTransport

    @property
    def port(self) -> str:
        """The path of the pseudo-terminal."""
        return self.transport.port

    def stop(self) -> None:
        """Stop the machine and close its port. A second call does nothing."""
        self.transport.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def command_line(
    board: Board,
    elf: Path | None,
    extra: tuple[str, ...] = (),
    *,
    icount: bool = True,
    skip_sleep: bool = False,
) -> list[str]:
    """Return the command that runs ``elf`` on ``board``. If ``elf`` is None, the board's memory is empty. Without
    ``icount`` the board's timer has no meaning. With ``skip_sleep``, a sleeping processor takes no real time.

    Raises:
        UsageError: the board is not emulated by QEMU.
        ToolError: QEMU is not installed.
    """
    emulator = board.emulator
    if emulator is None:
        raise UsageError(f"{board.name} is a real board.", "Give --port, or choose a qemu_* board.")
    if board.rtl is not None:
        raise UsageError(
            f"{board.name} is not emulated by QEMU: only `arenite bench` simulates its core.",
            f"Use the board {board.rtl.firmware}, which runs the same firmware.",
        )
    program = f"qemu-system-{emulator.system}"
    if shutil.which(program) is None:
        package = QEMU_PACKAGES.get(emulator.system, program)
        raise ToolError(f"The emulator {program} is not installed.", f"Install it: apt install {package}")
    serial = ["-serial", "null"] * emulator.serial_index + ["-serial", "chardev:line"]
    return [
        program,
        *("-machine", emulator.machine),
        *(("-cpu", emulator.cpu) if emulator.cpu else ()),
        *(
            ("-icount", f"shift={emulator.icount_shift}{',sleep=off' if skip_sleep else ''}")
            if icount
            else ()
        ),
        *("-display", "none", "-monitor", "none", "-chardev", "pty,id=line"),
        *serial,
        *emulator.arguments,
        *("-qmp", "stdio", "--preconfig"),
        *extra,
        *(("-kernel", str(elf)) if elf is not None else ()),
    ]


def _read_port_name(process: subprocess.Popen[bytes], program: str, timeout_s: float) -> str:
    """Wait until QEMU prints the name of the serial port, and return it. Raises ToolError with a line of QEMU's output
    if it prints no name."""
    assert process.stdout is not None
    received = b""
    end = time.monotonic() + timeout_s
    while (remaining := end - time.monotonic()) > 0:
        ready, _, _ = select.select([process.stdout], [], [], remaining)
        data = os.read(process.stdout.fileno(), 4096) if ready else b""
        if ready and not data:
            break
        received += data
        if match := _PORT.search(received):
            return match.group(1).decode()
    lines = received.decode("utf-8", "replace").strip().splitlines()
    message = next(
        (line for line in lines if line.startswith(program)), lines[-1] if lines else "it printed no message."
    )
    raise ToolError(f"{program} did not start: {message}", "Run `arenite doctor` to check the emulators.")


@contextmanager
def start(
    board: Board,
    elf: Path,
    *,
    extra: tuple[str, ...] = (),
    icount: bool = True,
    skip_sleep: bool = False,
    folder: Path | None = None,
    timeout_s: float = 20.0,
) -> Iterator[RunningEmulator]:
    """Run ``elf`` on the emulated ``board`` until the block ends.

    Args:
        board: an emulated board.
        elf: the firmware.
        extra: more arguments for QEMU (a plugin, a trace).
        icount: True if the board's timer must count instructions. Otherwise QEMU is faster and the timer has no
            meaning.
        skip_sleep: True if a sleeping processor takes no real time: its timer jumps to the next interrupt.
        folder: the folder whose files the firmware can read by semihosting; None if it reads none.
        timeout_s: seconds to wait for QEMU's start.

    Raises:
        ToolError: QEMU is missing or does not start.
        UsageError: the board is not emulated, or the file does not exist.
    """
    if not Path(elf).is_file():
        raise UsageError(f"The firmware {elf} does not exist.", "Build it with `arenite build`.")
    if folder is not None:
        extra = (*extra, "-semihosting-config", "enable=on,target=native")
    command = command_line(board, Path(elf).absolute(), extra, icount=icount, skip_sleep=skip_sleep)
    with _running(command, board, timeout_s, folder) as running:
        yield running


@contextmanager
def start_empty(board: Board, gdb: str, *, timeout_s: float = 20.0) -> Iterator[RunningEmulator]:
    """Start the emulated ``board`` with empty memory, halted, and with a GDB server on the Unix socket ``gdb``.

    Raises:
        ToolError: QEMU is missing or does not start.
        UsageError: the board is not emulated.
    """
    extra = ("-S", "-gdb", f"unix:path={gdb},server=on,wait=off")
    with _running(command_line(board, None, extra), board, timeout_s) as running:
        yield running


@contextmanager
def _running(
    command: list[str], board: Board, timeout_s: float, folder: Path | None = None
) -> Iterator[RunningEmulator]:
    """Run QEMU with ``command`` in ``folder`` until the block ends."""
    process = Child(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder
    )
    emulator: RunningEmulator | None = None
    try:
        port = _read_port_name(process, command[0], timeout_s)
        emulator = RunningEmulator(board, process, SerialTransport(port, board.uart.baud))
        assert process.stdin is not None
        process.stdin.write(_LEAVE_PRECONFIG)
        process.stdin.flush()
        yield emulator
    finally:
        if emulator is not None:
            emulator.stop()
        else:
            process.kill()
            process.wait()
