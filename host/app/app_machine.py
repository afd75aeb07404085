"""Start an application on its emulated board: by itself, or behind the boot loader if it takes updates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arenite.firmware.update.loader import build_loader
from arenite.host.app.updates import sign_app
from arenite.host.emulator.flash_file import new_flash, start_updatable
from arenite.host.emulator.machine import RunningEmulator, start
from arenite.host.update.keys import read_public_key
from arenite.processes import temporary_folder
from arenite.profiles.board import Board


@contextmanager
def start_app(directory: Path, elf: Path, board: Board, folder: Path) -> Iterator[RunningEmulator]:
    """Run the application in ``directory``, which was built as ``elf``, on the emulated ``board`` until the block ends.
    While the processor sleeps, no real time passes. ``folder`` has the file that the virtual sensor reads.

    An application with updates is that of a new device, with the images of this build.

    Raises:
        ToolError: the compiler, imgtool or the emulator is missing.
        UsageError: the key of an application with updates is missing.
    """
    images = sign_app(directory, elf)
    if images is None:
        with start(board, elf, skip_sleep=True, folder=folder) as machine:
            yield machine
        return
    with temporary_folder("arenite-updates-") as name:
        loader = build_loader(board, read_public_key(images.key), name / "loader")
        flash = name / "flash.bin"
        new_flash(board, flash, images.firmware.read_bytes(), images.model.read_bytes())
        with start_updatable(board, loader.elf, flash, skip_sleep=True, folder=folder) as device:
            yield device.machine
