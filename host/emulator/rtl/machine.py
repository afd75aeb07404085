"""Run a firmware on the simulated core of an RTL board, with the board's serial port as a pseudo-terminal."""

from __future__ import annotations

import contextlib
import select
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import DeviceError, ToolError, UsageError
from arenite.host.emulator.emulated_board import EmulatedBoard
from arenite.host.link.transport import SerialTransport
from arenite.processes import Child
from arenite.profiles.boards import Board

START_TIMEOUT_S = 60.0
#: Seconds between two looks at the log of a running simulation.
POLL_S = 0.5
MAX_WAIT = 3


@dataclass(frozen=True)
class WaitStates:
    """The wait states of the memories, in cycles per access: 0 to ``MAX_WAIT``. Raises ``UsageError`` for another
    number."""

    flash: int = 0
    ram: int = 0

    def __post_init__(self) -> None:
        for name, cycles in (("flash", self.flash), ("RAM", self.ram)):
            if not 0 <= cycles <= MAX_WAIT:
                raise UsageError(
                    f"The {name} has {cycles} wait states.", f"Give a number from 0 to {MAX_WAIT}."
                )


@contextmanager
def start_rtl(
    program: Path,
    board: Board,
    elf: Path,
    log: Path,
    waits: WaitStates,
    watch: Callable[[Path], None] = lambda _: None,
) -> Iterator[EmulatedBoard]:
    """Run ``elf`` with the simulator ``program`` until the block ends. The simulator writes the reads of the counter of
    instructions to the file ``log`` (see ``testbench/main.cpp``). ``watch`` is called with ``log`` about twice per
    second, from another thread.

    Raises:
        UsageError: the file does not exist.
        ToolError: the simulator does not start, or ended with an error.
    """
    if not elf.is_file():
        raise UsageError(f"The firmware {elf} does not exist.", "Build it with `arenite build`.")
    command = [str(program), str(elf), str(log), str(waits.flash), str(waits.ram)]
    messages_path = log.with_suffix(".err")
    finished = threading.Event()

    def poll() -> None:
        while not finished.wait(POLL_S):
            watch(log)

    with messages_path.open("wb") as messages:
        process = Child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages)
        transport: SerialTransport | None = None
        watcher = threading.Thread(target=poll, daemon=True)
        try:
            transport = SerialTransport(_port_name(process, messages_path), board.uart.baud)
            assert process.stdin is not None
            process.stdin.write(b"\n")
            process.stdin.flush()
            watcher.start()
            yield EmulatedBoard(board, transport)
        except DeviceError as error:
            if process.poll():
                raise ToolError(_message(messages_path), "Please report this with the model.") from error
            raise
        finally:
            finished.set()
            if watcher.is_alive():
                watcher.join()
            if transport is not None:
                transport.close()
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()


def _port_name(process: subprocess.Popen[bytes], messages: Path) -> str:
    """Wait until the simulator prints the name of its port, and return it. Raises ``ToolError`` if it prints none."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], START_TIMEOUT_S)
    words = process.stdout.readline().decode().split() if ready else []
    if len(words) != 2 or words[0] != "port":
        raise ToolError(f"The simulator did not start: {_message(messages)}")
    return words[1]


def _message(messages: Path) -> str:
    lines = messages.read_text("utf-8", "replace").strip().splitlines()
    return f"{lines[-1]}." if lines else "it printed no message."
