"""Generate the ESP-IDF files of a project: build files, settings, partition table and port."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from arenite.firmware.espidf.cmake import cmake_main, cmake_project, component_manifest
from arenite.firmware.espidf.partitions import partitions_csv
from arenite.firmware.espidf.sdkconfig import sdkconfig_defaults
from arenite.firmware.sources import BOARDS
from arenite.profiles.boards import Board

PORT = "src/port_espidf.c"


def espidf_files(
    board: Board, files: Iterable[str], *, model: str, stack_bytes: int, optimise: str
) -> Mapping[str, str]:
    """Return the text of each file by its path in the project. The mapping is empty for a board that is not an ESP32.

    Args:
        board: the board that the project is for.
        files: paths of the sources that the project has so far.
        model: the model's name, for display.
        stack_bytes: the bytes of stack that the model and the protocol need.
        optimise: ``speed``, ``ram``, ``flash`` or ``balanced``.
    """
    if board.espressif is None:
        return {}
    sources = [name for name in files if name.endswith(".c") and Path(name).parts[0] in ("src", "lib")]
    component_sources = [
        name for name in sources if name != "src/main.c" and not name.startswith("lib/agent/")
    ]
    component_sources += [name for name in sources if name.startswith("lib/agent/parallel_")]
    return {
        "CMakeLists.txt": cmake_project(component_sources, optimise),
        "idf_component.yml": component_manifest(board, model),
        "sdkconfig.defaults": sdkconfig_defaults(board, stack_bytes, optimise),
        "partitions.csv": partitions_csv(board),
        "src/CMakeLists.txt": cmake_main([*sources, PORT], board, optimise),
        PORT: BOARDS.read("port_espidf.c"),
    }
