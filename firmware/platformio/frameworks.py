"""The files by which frameworks and build systems know a generated project, and the commands that use them."""

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
    """Path in the project to text, beside the C sources ``files``.

    ``model``: its name, for people; ``stack_bytes``: what the model and the protocol need; ``optimise``: the goal;
    ``second``: the memory in which a part of the arena lies, if not all of it is in the first.
    """
    return {
        **espidf_files(board, files, model=model, stack_bytes=stack_bytes, optimise=optimise),
        **zephyr_files(board, files, stack_bytes=stack_bytes, optimise=optimise),
        **platformio_files(board, stack_bytes, second),
    }


def build_commands(board: Board, project: str = ".") -> list[str]:
    """Commands that build the firmware in the folder ``project`` and put it on the board; one line is one way."""
    here = project == "."
    if board.emulated:
        return ["pio run" if here else f"pio run -d {project}"]
    steps = []
    if board.platformio is not None:
        steps.append("pio run -t upload" if here else f"pio run -d {project} -t upload")
    if board.espressif is not None:
        idf = "idf.py" if here else f"idf.py -C {project}"
        steps.append(f"{idf} set-target {board.espressif.chip} && {idf} build flash")
    elif is_for_zephyr(board):
        source = "zephyr" if here else f"{project}/zephyr"
        steps.append(f"west build -b {board.name} {source} && west flash")
    return steps
