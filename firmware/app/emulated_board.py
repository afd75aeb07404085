"""The parts of an application for an emulated board: drivers, start-up, port, linker script and build recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arenite.firmware.app.forms.choice import PLATFORMIO
from arenite.firmware.app.forms.cmake import emulated_cmake
from arenite.firmware.app.forms.folders import INCLUDES
from arenite.firmware.app.forms.platformio import emulated_platformio
from arenite.firmware.boards import cores, families
from arenite.firmware.boards.linker import linker_script
from arenite.firmware.boards.toolchains import GCC, compiler_flags
from arenite.firmware.generator.features import NO_FEATURES
from arenite.firmware.generator.project import build_recipe
from arenite.firmware.sources import BOARDS
from arenite.profiles.board import Board

#: The driver of the sensor and the serial port of each family of emulated boards.
DRIVERS = {"mps2": ("console_mps2.c", "virtual_sensor.c", "semihosting.h")}
#: The same for a camera.
CAMERA_DRIVERS = {"mps2": ("console_mps2.c", "virtual_camera.c", "semihosting.h")}
#: The headers of start-up and port.
_BOARD_HEADERS = ("port.h", "health.h", "start_memory.h")


def emulated_board_files(board: Board, protocol: str, stack_bytes: int) -> dict[str, str]:
    """Return start-up, port and linker script by their paths in the application.

    ``protocol`` is that of the manifest, and ``stack_bytes`` the bytes reserved for the stack.
    """
    assert board.emulator is not None
    core, family = cores.core_named(board.core), families.family_named(board.emulator.family)
    names = (core.start, *core.helpers, *family.sources, *_BOARD_HEADERS)
    texts = {
        **{name: BOARDS.read(name) for name in names},
        "firmware_features.h": NO_FEATURES.header(protocol, board),
        "link.ld": linker_script(board, stack_bytes),
    }
    return {f"lib/board/{name}": text for name, text in texts.items()}


def emulated_recipe(
    board: Board, files: Mapping[str, str], main: str, optimise: str, defines: Sequence[str]
) -> dict[str, Any]:
    """Return the build recipe of ``files`` and of the program ``main``. Paths are relative to the folder."""
    assert board.emulator is not None
    core, family = cores.core_named(board.core), families.family_named(board.emulator.family)
    compiler = compiler_flags(core, GCC)
    sources = [
        (path, cores.optimise_flags(optimise) if path.startswith("lib/model/") else compiler.support)
        for path in [*files, main]
        if path.endswith((".c", ".S"))
    ]
    return build_recipe(core, compiler, (*family.defines, *defines), INCLUDES, sources)


def emulated_build_files(board: Board, form: str, recipe: Mapping[str, Any], main: str) -> dict[str, str]:
    """Return the build files of kind ``form`` by their paths in the application."""
    if form == PLATFORMIO:
        return dict(emulated_platformio(board))
    return {"CMakeLists.txt": emulated_cmake(recipe, main)}
