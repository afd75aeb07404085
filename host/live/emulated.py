"""Run a generated application on its emulated board, whose sensor plays a recording, and receive its messages."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.errors import DeviceError, UsageError
from arenite.firmware.app.camera_settings import CameraSettings
from arenite.host.app.app_machine import start_app
from arenite.host.app.camera.camera_file import CAMERA_FILE, camera_records
from arenite.host.app.camera.frames import read_frames
from arenite.host.app.emulated_run import END, SENSOR_FILE
from arenite.host.app.recordings import read_recording
from arenite.host.app.sensor_file import Fault, sensor_records
from arenite.host.flash.build import direct_build, read_manifest
from arenite.host.live.connection import Connected, Ended, Notice, receive
from arenite.host.live.messages import Message, Row, Samples, Text
from arenite.profiles.boards import Board, load_board


@dataclass(frozen=True)
class EmulatedApp:
    """An application that was generated into ``directory`` for an emulated ``board``.

    ``sensor`` is one of those of ``arenite app``. A sample has ``channels`` values, and there are ``rate`` of them per
    second. A camera has ``rate`` frames per second instead, and the settings ``frames``.
    """

    directory: Path
    board: Board
    sensor: str
    rate: int
    channels: int
    frames: CameraSettings | None

    def sensor_file(self, recordings: Sequence[Path], faults: Sequence[Fault]) -> tuple[str, Iterable[bytes]]:
        """Return the name and the contents of the file with which the virtual sensor plays ``recordings``.

        Raises ``UsageError`` if one cannot be read, or if there are several for a sensor without pictures.
        """
        if self.frames is not None:
            frames = read_frames(recordings, self.frames)
            return CAMERA_FILE, camera_records(frames, self.frames, faults, begins_held=True)
        if len(recordings) != 1:
            raise UsageError("--play is given several times.", "Give one recording.")
        samples = read_recording(recordings[0], self.sensor, self.rate, self.channels)
        return SENSOR_FILE, sensor_records(samples, faults, rate=self.rate)


def emulated_app(directory: Path, board: str) -> EmulatedApp:
    """Return the application in ``directory``. Raises ``UsageError`` if there is none for the emulated ``board``."""
    manifest = read_manifest(directory)
    if manifest["protocol"] != "app":
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
    try:
        return _described(directory, profile, manifest)
    except (KeyError, TypeError) as error:
        raise UsageError(
            f"The application in {directory} does not describe its sensor.",
            "Write it again with `arenite app` of this version.",
        ) from error


def _described(directory: Path, board: Board, manifest: dict[str, Any]) -> EmulatedApp:
    """Return the application that ``manifest`` describes. Raises ``KeyError`` or ``TypeError`` if something lacks."""
    if "frames" in manifest:
        frames = CameraSettings(**manifest["frames"])
        return EmulatedApp(directory, board, manifest["sensor"], frames.rate, 1, frames)
    return EmulatedApp(directory, board, manifest["sensor"], manifest["rate"], manifest["channels"], None)


def emulated_messages(
    app: EmulatedApp,
    recordings: Sequence[Path],
    is_stopped: Callable[[], bool],
    *,
    is_real_time: bool,
    faults: Sequence[Fault] = (),
) -> Iterator[Message | Notice]:
    """Build ``app``, run it while its sensor plays ``recordings``, and yield its messages until it has sensed
    everything or ``is_stopped`` returns true.

    The recordings are one WAV file for a microphone, pictures for a camera, and otherwise one NumPy or CSV file. The
    virtual sensor waits for the reader of the messages, so no sample is dropped. With ``is_real_time``, a second of the
    recording takes at least a second. Otherwise it takes as long as the emulator computes.

    Raises:
        UsageError: a recording cannot be read.
        DeviceError, ToolError: the emulator cannot run the application.
    """
    file_name, records = app.sensor_file(recordings, faults)
    elf = direct_build(app.directory)
    with tempfile.TemporaryDirectory(prefix="arenite-live-") as name:
        folder = Path(name)
        with (folder / file_name).open("wb") as file:
            file.writelines(records)
        with start_app(app.directory, elf, app.board, folder) as machine:
            yield Connected(app.board.name, False)
            began = time.monotonic()
            try:
                for message in receive(machine.transport, "binary hold", is_stopped):
                    if is_real_time and isinstance(message, Samples | Row):
                        at = message.at if isinstance(message, Samples) else message.picture
                        time.sleep(max(began + at / app.rate - time.monotonic(), 0))
                    if message == Text(END):
                        yield Ended()
                        return
                    yield message
            except DeviceError as error:  # its hint is about the cable of a real board
                raise DeviceError(
                    f"The emulator of {app.board.name} ended before the application had heard the recording.",
                    "Run the command again; `arenite doctor` checks the emulators.",
                ) from error
