"""Run an application on an emulated board, with the samples of a virtual sensor, and read the lines that it prints.

The emulator's clock counts instructions, and samples arrive at exact times of this clock, so two runs print the same
lines. While the processor sleeps, no real time passes.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arenite.errors import DeviceError
from arenite.host.app.flash_memory import FLASH_FILE
from arenite.host.app.sensor_file import RATE, Fault, sensor_records
from arenite.host.emulator.machine import RunningEmulator, start
from arenite.profiles.boards import Board

#: The name of the file that virtual_sensor.c reads.
SENSOR_FILE = "sensor.bin"
#: The line that virtual_sensor.c prints after the last sample.
END = "The recording ended."
#: The line that an application prints when it has heard nothing for a second, as after the last sample.
SILENT = "No samples arrived for a second."
#: Seconds without a line, after which the application counts as hung.
SILENCE_S = 600.0
#: Starts the emulator, whose program reads the files of a folder.
Launch = Callable[[Path], AbstractContextManager[RunningEmulator]]
_EVENT = re.compile(
    r"\[(\d+\.\d{3}) s\] (.+?)(?: (\d+)%| (ended)| ([\d.]+, normal up to [\d.]+|distance [\d.]+)) \(sample (\d+)\)"
)


@dataclass(frozen=True)
class EventLine:
    """An event as the application printed it: its class, the start or the end, the score in percent at a start, and the
    index of the last sample that it depends on. ``detail`` is the printed score of an anomaly or a taught class."""

    label: str
    is_start: bool
    percent: int | None
    sample: int
    detail: str | None = None


def parse_event(line: str) -> EventLine | None:
    """Return the event that ``line`` describes, or None for another line."""
    match = _EVENT.fullmatch(line)
    if match is None:
        return None
    percent = None if match[3] is None else int(match[3])
    return EventLine(match[2], match[4] is None, percent, int(match[6]), match[5])


def run_emulated(
    elf: Path,
    board: Board,
    samples: np.ndarray,
    faults: Sequence[Fault] = (),
    commands: Sequence[str] = (),
    silence_s: float = SILENCE_S,
    rate: int = RATE,
    last_command: str | None = None,
    flash: bytearray | None = None,
    launch: Launch | None = None,
) -> Iterator[str]:
    """Run ``elf`` until all ``samples`` have been read, and yield the lines that it prints.

    Args:
        elf: an application for ``board``.
        board: an emulated board.
        samples: int16 samples, at the application's rate; they may be a memory-mapped file of hours.
        faults: faults of the sensor.
        commands: lines that are sent to the application when it starts.
        silence_s: seconds of real time without a line, after which the application counts as hung.
        rate: samples per second.
        last_command: a line that is sent after the last sample. The application's answer is the last line.
        flash: the contents of the board's flash memory for what it learns, which the run changes; None for no memory.
        launch: starts the emulator with the sensor's file in a folder. None: it runs ``elf`` by itself.

    Raises:
        DeviceError: the application printed nothing for ``silence_s``, or the emulator ended.
    """
    records = sensor_records(samples, faults, rate=rate)
    yield from run_with_file(
        elf, board, SENSOR_FILE, records, commands, silence_s, last_command, flash, launch
    )


@contextmanager
def _flash_file(folder: Path, flash: bytearray | None) -> Iterator[None]:
    """Let the emulator change ``flash`` as a file in ``folder``."""
    if flash is None:
        yield
        return
    (folder / FLASH_FILE).write_bytes(flash)
    try:
        yield
    finally:
        flash[:] = (folder / FLASH_FILE).read_bytes()


def run_with_file(
    elf: Path,
    board: Board,
    file_name: str,
    records: Iterable[bytes],
    commands: Sequence[str] = (),
    silence_s: float = SILENCE_S,
    last_command: str | None = None,
    flash: bytearray | None = None,
    launch: Launch | None = None,
) -> Iterator[str]:
    """Do the same as ``run_emulated`` for an application whose driver reads the file ``file_name`` with ``records``."""

    def alone(folder: Path) -> AbstractContextManager[RunningEmulator]:
        return start(board, elf, skip_sleep=True, folder=folder)

    with tempfile.TemporaryDirectory(prefix="arenite-app-") as name:
        folder = Path(name)
        with (folder / file_name).open("wb") as file:
            file.writelines(records)
        with _flash_file(folder, flash), (launch or alone)(folder) as machine:
            for command in commands:
                machine.transport.write(command.encode() + b"\n")
            received, has_ended = b"", False
            last = time.monotonic()
            while (now := time.monotonic()) - last < silence_s:
                try:
                    data = machine.transport.read(0.2)
                except DeviceError as error:  # its hint is about the cable of a real board
                    raise DeviceError(
                        f"The emulator of {board.name} ended before the application had heard the recording.",
                        "Run the command again; `arenite doctor` checks the emulators.",
                    ) from error
                last = now if data else last
                *lines, received = (received + data).split(b"\n")
                for line in lines:
                    text = line.decode("utf-8", "replace")
                    if text == END and last_command is not None:
                        machine.transport.write(last_command.encode() + b"\n")
                        has_ended = True
                    elif text == END:
                        return
                    elif not has_ended or text != SILENT:
                        yield text
                        if has_ended:
                            return
        raise DeviceError(
            f"The application printed nothing for {silence_s:.0f} s.",
            "It may have stopped: build it again with `arenite build`, and try a shorter recording.",
        )
