"""The parts of an application for a real board: drivers, port and build files of its framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arenite.firmware.app.forms.choice import PLATFORMIO
from arenite.firmware.app.forms.cmake import pico_cmake
from arenite.firmware.app.forms.espidf import espidf_app_files
from arenite.firmware.app.forms.platformio import arduino_platformio, espidf_platformio
from arenite.firmware.app.forms.zephyr import zephyr_app_files
from arenite.firmware.app.microphones import ARDUINO, ESPIDF, PICO, Microphone
from arenite.firmware.boards.cores import optimise_flags
from arenite.firmware.generator.features import NO_FEATURES
from arenite.firmware.sources import APP, BOARDS
from arenite.profiles.board import Board

#: Bytes of stack of a framework's drivers and interrupts.
_DRIVER_STACK_BYTES = 1024


def real_board_files(board: Board, microphone: Microphone, protocol: str) -> dict[str, str]:
    """Return drivers and port by their paths in the application. ``protocol`` is that of the manifest."""
    return {
        **{f"lib/app/{name}": APP.read(name) for name in microphone.sources},
        "lib/board/port.h": BOARDS.read("port.h"),
        "lib/board/firmware_features.h": NO_FEATURES.header(protocol, board),
    }


def real_build_files(
    board: Board,
    form: str,
    files: Mapping[str, str],
    microphone: Microphone,
    *,
    optimise: str,
    defines: Sequence[str],
    stack_bytes: int,
) -> dict[str, str]:
    """Return the build files of kind ``form`` by their paths in the application.

    ``files`` are the application's sources by their paths, ``defines`` macros for all of them, and ``stack_bytes`` the
    bytes of stack that the application needs.
    """
    options = optimise_flags(optimise)
    if microphone.framework == ARDUINO:
        return {"platformio.ini": arduino_platformio(board, options, (*defines, *microphone.defines))}
    stack_bytes += _DRIVER_STACK_BYTES
    if microphone.framework == PICO:
        text = pico_cmake(board, files, microphone, options=options, defines=defines, stack_bytes=stack_bytes)
        return {"CMakeLists.txt": text}
    writer = espidf_app_files if microphone.framework == ESPIDF else zephyr_app_files
    written = writer(
        board,
        files,
        microphone,
        optimise=optimise,
        options=options,
        defines=defines,
        stack_bytes=stack_bytes,
    )
    return written | ({"platformio.ini": espidf_platformio(board)} if form == PLATFORMIO else {})
