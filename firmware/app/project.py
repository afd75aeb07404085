"""Write the folder of an application.

``src/main.c`` belongs to the user, and ``src/app_pins.h`` and ``src/app.overlay`` of a real board too: they are
written once. Everything else is generated again by each call. For an emulated board, the build recipe in
``arenite.json`` is that of a firmware project, so ``arenite build`` compiles it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.firmware.app import cascade_glue as cascade
from arenite.firmware.app import learning_glue as learning
from arenite.firmware.app.camera_settings import CameraSettings
from arenite.firmware.app.drivers.choice import driver_of
from arenite.firmware.app.drivers.driver import Driver
from arenite.firmware.app.emulated_board import (
    CAMERA_DRIVERS,
    DRIVERS,
    emulated_board_files,
    emulated_build_files,
    emulated_recipe,
)
from arenite.firmware.app.forms.application import Application
from arenite.firmware.app.forms.choice import CMAKE, ZEPHYR_APP
from arenite.firmware.app.forms.zephyr_overlay import zephyr_overlay
from arenite.firmware.app.pins_of_sensor import OVERLAY, PINS, previous_manifest, set_aside
from arenite.firmware.app.readme import readme
from arenite.firmware.app.real_board import real_board_files, real_build_files
from arenite.firmware.app.settings import HEADER, SOURCE, StreamSettings
from arenite.firmware.app.update_parts import MANIFEST_ENTRY, UpdateParts, with_updates
from arenite.firmware.generator.output_folder import MANIFEST, write_folder
from arenite.firmware.sources import APP
from arenite.profiles.board import Board

PROTOCOL = "app"
MAIN = "src/main.c"
#: The C files of the messages of all applications.
_MESSAGES = ("app_stream.c", "app_stream.h")
#: The C files of an application with a sensor of samples, besides those of the board.
_STREAM = (
    "app.h",
    "app_report.c",
    "app_report.h",
    *_MESSAGES,
    "console.c",
    "console.h",
    "sensor.c",
    "sensor.h",
    "sample_loop.c",
)
#: The C files of an application with a camera. The serial port's driver sleeps with sensor.h.
_CAMERA = (
    "camera.c",
    "camera.h",
    "camera_app.h",
    "camera_loop.c",
    "camera_report.c",
    "camera_report.h",
    "camera_stream.c",
    "camera_stream.h",
    *_MESSAGES,
    "console.c",
    "console.h",
    "sensor.h",
)

#: The header that src/main.c includes, without and with a camera.
_HEADERS = {False: "app.h", True: "camera_app.h"}
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)

_MAIN = """\
/* This file is yours: `arenite app` writes it once and does not change it again. */
#include "@HEADER@"

/* Called for each event. Switch a light on, send a message, ... */
static void on_event(const ar_event *event)
{
    app_print(event);
}

int main(void)
{
    app_start();
    for (;;) {
        ar_event event;
        while (app_next_event(&event)) {
            on_event(&event);
        }
        app_sleep();
    }
}
"""


def shipped_main(has_camera: bool) -> str:
    """Return the program that a new application has."""
    return _MAIN.replace("@HEADER@", _HEADERS[has_camera])


def check_main(directory: Path, has_camera: bool) -> None:
    """Raise ``UsageError`` if ``src/main.c`` in ``directory`` belongs to an application with the other kind of sensor:
    it is the user's, so it is not written again, and it would not compile."""
    main = directory / MAIN
    if not main.is_file():
        return
    text = main.read_text("utf-8", "replace")
    included = set(_INCLUDE.findall(text))
    wrong, right = (_HEADERS[not has_camera], _HEADERS[has_camera])
    if wrong not in included or right in included:
        return
    kind = "with a camera" if has_camera else "without a camera"
    raise UsageError(
        f"{main} includes {wrong}, but an application {kind} has {right}.",
        "Give another folder with -o, or remove src/main.c if you did not change it: it is written again.",
    )


def supported(board: Board, sensor: str) -> bool:
    """Return whether there are drivers for ``board`` and the kind of sensor ``sensor``."""
    if board.emulator is not None:
        return board.emulator.family in DRIVERS
    return driver_of(board, sensor) is not None


def write_app(
    directory: Path,
    name: str,
    board: Board,
    model_files: Mapping[str, str],
    settings: StreamSettings | CameraSettings,
    *,
    form: str = CMAKE,
    optimise: str,
    stack_bytes: int,
    defines: Sequence[str],
    manifest: Mapping[str, Any],
    driver: Driver | None = None,
    updates: UpdateParts | None = None,
) -> None:
    """Write the folder of an application. Equal arguments give equal bytes.

    Args:
        directory: the folder, which is created or updated. The files of the user are only written if they do not
            exist. Pins of another board or sensor are set aside.
        name: title of the application in its README.
        board: a board for which :func:`supported` is true.
        model_files: text of the model's sources by their paths, among them ``app_model.h``.
        settings: the numbers of the application.
        form: the build system, one of ``forms_of(board)``.
        optimise: ``speed``, ``ram``, ``flash`` or ``balanced``.
        stack_bytes: bytes reserved for the stack.
        defines: macros for all sources, each ``NAME=VALUE``.
        manifest: further entries of ``arenite.json``, among them ``model``.
        driver: the driver of the sensor on a real board.
        updates: what an application with updates has besides; None for one that is only flashed.

    Raises:
        UsageError: the folder has other files, or its ``src/main.c`` is for the other kind of sensor. Then nothing is
            written.
    """
    has_camera = isinstance(settings, CameraSettings)
    check_main(directory, has_camera)
    app_names: tuple[str, ...] = _CAMERA if has_camera else _STREAM
    if learning.HEADER in model_files:
        app_names = (*app_names, *learning.SOURCES)
    if cascade.HEADER in model_files:
        app_names = (*app_names, *cascade.SOURCES)
    files = {
        **{f"lib/app/{n}": APP.read(n) for n in app_names},
        f"lib/app/{HEADER}": settings.header(),
        f"lib/app/{SOURCE}": settings.source(),
        **{f"lib/model/{path}": text for path, text in model_files.items()},
    }
    user_files = {MAIN: shipped_main(has_camera)}
    project: dict[str, Any] = {
        **manifest,
        "schema": "arenite.project/1",
        "board": board.name,
        "core": board.core,
        "protocol": PROTOCOL,
        "project": form,
        "optimise": optimise,
        "stack_bytes": stack_bytes,
    }
    if board.emulator is not None:
        drivers: tuple[str, ...] = (CAMERA_DRIVERS if has_camera else DRIVERS)[board.emulator.family]
        if learning.HEADER in model_files:
            drivers = (*drivers, *learning.FLASH[board.emulator.family])
        files |= {f"lib/app/{n}": APP.read(n) for n in drivers}
        files |= emulated_board_files(board, PROTOCOL, stack_bytes)
        if updates is not None:
            files |= updates.files(board, stack_bytes)
        project["build"] = emulated_recipe(board, files, MAIN, optimise, defines)
        if updates is not None:  # `arenite build` signs the images
            project["build"] = with_updates(board, project["build"])
            project[MANIFEST_ENTRY] = dict(updates.manifest)
        else:
            files |= emulated_build_files(board, form, project["build"], MAIN)
    else:
        assert driver is not None
        files |= real_board_files(board, driver, PROTOCOL)
        application = Application(board, files, driver, optimise, defines, stack_bytes)
        files |= real_build_files(application, form)
        if driver.pins:
            user_files[PINS] = driver.pins_header()
        if form == ZEPHYR_APP:
            user_files[OVERLAY] = zephyr_overlay(board, driver)
        project["driver"] = [name for name in driver.sources if not name.endswith(".h")]
    models = " and ".join(Path(str(manifest[k]["path"])).name for k in ("model", "cascade") if k in manifest)
    files["README.md"] = readme(
        name, models, board, form, driver, str(manifest["sensor"]), tuple(user_files), updates is not None
    )
    files[MANIFEST] = ""
    files[MANIFEST] = json.dumps({**project, "files": sorted(files)}, indent=2) + "\n"
    before = previous_manifest(directory)
    write_folder(directory, files)
    set_aside(directory, before, project, user_files)
    for path, text in user_files.items():
        if not (directory / path).exists():
            write_atomic(directory / path, text.encode())
