"""Choose the build system of an application."""

from __future__ import annotations

from arenite.errors import UsageError
from arenite.firmware.app.drivers.driver import ARDUINO, ESPIDF, PICO, ZEPHYR, framework_of
from arenite.profiles.board import Board

PLATFORMIO, ESP_IDF, ZEPHYR_APP, CMAKE = "platformio", "esp-idf", "zephyr", "cmake"
FORMS = (PLATFORMIO, ESP_IDF, ZEPHYR_APP, CMAKE)
#: The build systems that can build an application with each framework. The first is the default.
_BY_FRAMEWORK = {ARDUINO: (PLATFORMIO,), ESPIDF: (PLATFORMIO, ESP_IDF), PICO: (CMAKE,), ZEPHYR: (ZEPHYR_APP,)}
_EMULATED = (CMAKE, PLATFORMIO)


def forms_of(board: Board) -> tuple[str, ...]:
    """Return the build systems for applications on ``board``, the default first. Raises ``UsageError`` if the board has
    no framework for which there are drivers."""
    if board.emulated:
        return _EMULATED
    framework = framework_of(board)
    if framework is None:
        raise UsageError(
            f"There is no serial port of applications for {board.name} yet.",
            "Choose a board of docs/app-boards.md, or write the driver beside the sources of `arenite library`.",
        )
    return _BY_FRAMEWORK[framework]


def chosen_form(board: Board, form: str | None) -> str:
    """Return the build system of an application on ``board``: ``form``, or the default if that is None.

    Raises ``UsageError`` if ``form`` is none of ``FORMS``, or cannot build an application on ``board``.
    """
    if form is not None and form not in FORMS:
        raise UsageError(f"'{form}' is not a kind of project.", f"Choose one of {', '.join(FORMS)}.")
    forms = forms_of(board)
    if form is None:
        return forms[0]
    if form not in forms:
        raise UsageError(
            f"An application on {board.name} cannot be a project of kind {form}.",
            f"Use --project {' or '.join(forms)}.",
        )
    return form


def app_commands(board: Board, form: str, directory: str = ".") -> list[str]:
    """Return the command lines that build the application in ``directory``, and flash it if the board is real."""
    at = "" if directory == "." else f" -C {directory}"
    if form == ESP_IDF:
        assert board.espressif is not None
        return [f"idf.py{at} set-target {board.espressif.chip}", f"idf.py{at} build flash"]
    if form == ZEPHYR_APP:
        return [f"west build -b {board.zephyr_target or board.name} {directory}/zephyr", "west flash"]
    if form == CMAKE:
        return [f"cmake -S {directory} -B {directory}/build", f"cmake --build {directory}/build"]
    return [f"pio run -d {directory}" + ("" if board.emulated else " -t upload")]
