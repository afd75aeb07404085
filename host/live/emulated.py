"""Run a generated application on its emulated board, whose sensor plays a recording, and receive its messages."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arenite.converters.processing.long_sound import open_sound
from arenite.errors import DeviceError, UsageError
from arenite.host.app.emulated_run import END, SENSOR_FILE
from arenite.host.app.sensor_file import Fault, sensor_records
from arenite.host.emulator.machine import start
from arenite.host.flash.build import direct_build, read_manifest
from arenite.host.live.connection import Connected, Ended, Notice, receive
from arenite.host.live.messages import Message, Samples, Text
from arenite.profiles.boards import Board, load_board


@dataclass(frozen=True)
class EmulatedApp:
    """An application that was generated into ``directory`` for an emulated ``board``; its sensor has ``rate`` samples
    per second."""

    directory: Path
    board: Board
    rate: int


def emulated_app(directory: Path, board: str) -> EmulatedApp:
    """Return the application in ``directory``. Raises ``UsageError`` if there is none for the emulated ``board``."""
    manifest = read_manifest(directory)
    if manifest["protocol"] != "app" or not isinstance(manifest.get("rate"), int):
        raise UsageError(
            f"{directory} is not the folder of an application.", "Write one with `arenite app ... -o FOLDER`."
        )
    if manifest["board"] != board:
        raise UsageError(
            f"The application in {directory} is for {manifest['board']}, not for {board}.",
            f"Write it again with --board {board}, or give --board {manifest['board']}.",
        )
    profile = load_board(board)
    if profile.emulator is None:
        raise UsageError(f"{board} is a real board.", "Flash it, and give its port: arenite live PORT.")
    return EmulatedApp(directory, profile, manifest["rate"])


def emulated_messages(
    app: EmulatedApp,
    recording: Path,
    is_stopped: Callable[[], bool],
    *,
    is_real_time: bool,
    faults: Sequence[Fault] = (),
) -> Iterator[Message | Notice]:
    """Build ``app``, run it while its sensor plays the WAV file ``recording``, and yield its messages until it has
    heard everything or ``is_stopped`` returns true.

    The virtual sensor waits for the reader of the messages, so no sample is dropped. With ``is_real_time``, a second of
    the recording takes at least a second. Otherwise it takes as long as the emulator computes.

    Raises:
        UsageError: the recording cannot be read.
        DeviceError, ToolError: the emulator cannot run the application.
    """
    samples = np.asarray(open_sound(recording, app.rate))
    elf = direct_build(app.directory)
    with tempfile.TemporaryDirectory(prefix="arenite-live-") as name:
        folder = Path(name)
        with (folder / SENSOR_FILE).open("wb") as file:
            file.writelines(sensor_records(samples, faults, rate=app.rate))
        with start(app.board, elf, skip_sleep=True, folder=folder) as machine:
            yield Connected(app.board.name, False)
            began = time.monotonic()
            try:
                for message in receive(machine.transport, "binary hold", is_stopped):
                    if is_real_time and isinstance(message, Samples):
                        time.sleep(max(began + message.at / app.rate - time.monotonic(), 0))
                    if message == Text(END):
                        yield Ended()
                        return
                    yield message
            except DeviceError as error:  # its hint is about the cable of a real board
                raise DeviceError(
                    f"The emulator of {app.board.name} ended before the application had heard the recording.",
                    "Run the command again; `arenite doctor` checks the emulators.",
                ) from error
