"""Lines that ``arenite app`` prints for every kind of sensor: what is connected where, and what to do next."""

from __future__ import annotations

from pathlib import Path

from arenite.firmware.app.drivers.driver import Driver
from arenite.firmware.app.forms.choice import PLATFORMIO, app_commands
from arenite.host.report.console import show
from arenite.profiles.board import Board


def show_driver(driver: Driver, directory: Path) -> None:
    """Print where the sensor of a real board is, and what the user must add to the application in ``directory``."""
    show(f"Sensor: {driver.wiring}. {driver.settings_place}")
    if driver.needs_files:
        show(f"Copy these files to {directory}/src: {driver.needs_files}.")


def show_next(
    board: Board,
    project: str,
    directory: Path,
    sensor: str,
    example: str | None = None,
    options: str = "",
) -> None:
    """Print the command that builds the application in ``directory``, whose build system is ``project``; and for an
    emulated board the command that runs it with a recording for ``sensor``, which the shipped application ``example``
    has. ``options`` are those with which the application was written besides."""
    commands = app_commands(board, project, str(directory))
    is_built_here = board.emulated or project == PLATFORMIO
    show(f"Next: {f'arenite build {directory}' if is_built_here else ' && '.join(commands)}")
    if example is not None:
        show(
            f"Or with its example: arenite app {example} --board {board.name} -o {directory}{options} --play example"
        )
    elif board.emulated:
        show(
            f"Or with a recording: arenite live {directory} --board {board.name} --play "
            f"{_RECORDINGS.get(sensor, 'FILE.csv')}"
        )


#: A recording for each kind of sensor that does not take .csv, .npy or .npz files.
_RECORDINGS = {"microphone": "FILE.wav", "camera": "PICTURES"}
