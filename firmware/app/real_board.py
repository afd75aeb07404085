"""The parts of an application for a real board: drivers, port and build files of its framework."""

from __future__ import annotations

from collections.abc import Callable

from arenite.firmware.app.drivers.driver import ARDUINO, Driver
from arenite.firmware.app.forms.application import Application
from arenite.firmware.app.forms.choice import CMAKE, ESP_IDF, PLATFORMIO, ZEPHYR_APP
from arenite.firmware.app.forms.cmake import pico_cmake
from arenite.firmware.app.forms.espidf import espidf_app_files
from arenite.firmware.app.forms.platformio import arduino_platformio, espidf_platformio
from arenite.firmware.app.forms.zephyr import zephyr_app_files
from arenite.firmware.generator.features import NO_FEATURES
from arenite.firmware.sources import APP, BOARDS
from arenite.profiles.board import Board

#: What writes the build files of each kind of project; a board with an Arduino core has its own.
_WRITERS: dict[str, Callable[[Application], dict[str, str]]] = {
    PLATFORMIO: espidf_platformio,
    ESP_IDF: espidf_app_files,
    CMAKE: pico_cmake,
    ZEPHYR_APP: zephyr_app_files,
}


def real_board_files(board: Board, driver: Driver, protocol: str) -> dict[str, str]:
    """Return drivers and port by their paths in the application. ``protocol`` is that of the manifest."""
    return {
        **{f"lib/app/{name}": APP.read(name) for name in driver.all_sources},
        "lib/board/port.h": BOARDS.read("port.h"),
        "lib/board/firmware_features.h": NO_FEATURES.header(protocol, board),
    }


def real_build_files(app: Application, form: str) -> dict[str, str]:
    """Return the build files of kind ``form`` by their paths in the application."""
    writer = arduino_platformio if app.driver.framework == ARDUINO else _WRITERS[form]
    return writer(app)
