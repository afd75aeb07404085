"""Collect the project files that frameworks and build systems need, and the commands that build a project."""

from __future__ import annotations

from collections.abc import Mapping

from arenite.firmware.espidf.project_files import espidf_files
from arenite.firmware.platformio.project_files import platformio_files
from arenite.firmware.platformio.zephyr import is_for_zephyr, zephyr_files
from arenite.profiles.board import Board, MemoryRegion


def framework_files(
    board: Board,
    files: Mapping[str, str],
    model: str,
    stack_bytes: int,
    optimise: str,
    second: MemoryRegion | None = None,
) -> Mapping[str, str]:
    """Return the text of all files besides the C sources ``files``, by path in the project.

    ``model`` is the model's name, for display. ``stack_bytes`` is the stack that the model and the protocol need.
    ``optimise`` is the goal. ``second`` is the memory that holds a part of the arena; None if the first memory holds
    all of it.
    """
    return {
        **espidf_files(board, files, model=model, stack_bytes=stack_bytes, optimise=optimise),
        **zephyr_files(board, files, stack_bytes=stack_bytes, optimise=optimise),
        **platformio_files(board, stack_bytes, optimise, second),
    }


def build_commands(board: Board, project: str = ".") -> list[str]:
    """Return alternative command lines: each one builds the firmware in the folder ``project``, and flashes it if the
    board is real."""
    in_project = project == "."
    if board.emulated:
        return ["pio run" if in_project else f"pio run -d {project}"]
    commands = []
    if board.platformio is not None:
        commands.append("pio run -t upload" if in_project else f"pio run -d {project} -t upload")
    if board.espressif is not None:
        idf = "idf.py" if in_project else f"idf.py -C {project}"
        commands.append(f"{idf} set-target {board.espressif.chip} && {idf} build flash")
    elif is_for_zephyr(board):
        source = "zephyr" if in_project else f"{project}/zephyr"
        commands.append(f"west build -b {board.zephyr_target or board.name} {source} && west flash")
    return commands
