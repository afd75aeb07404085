"""The files of the user that belong to one board and one sensor: the pins, and the devicetree of Zephyr."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arenite.firmware.generator.output_folder import MANIFEST
from arenite.input_files import parse_json, read_text

PINS = "src/app_pins.h"
OVERLAY = "src/app.overlay"
#: The entries of the manifest that say to which board and sensor these files belong.
_KEYS = ("board", "sensor", "driver")


def previous_manifest(directory: Path) -> Mapping[str, Any]:
    """Return the manifest of what ``directory`` has; an empty one if there is none, or a damaged one."""
    try:
        manifest = parse_json(read_text(directory / MANIFEST))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def set_aside(
    directory: Path, before: Mapping[str, Any], project: Mapping[str, Any], new_files: Mapping[str, str]
) -> None:
    """Rename the pins in ``directory`` if the application with the manifest ``before`` was for another board or sensor
    than ``project``, so that those of the new one can be written and nothing of the user is lost. A file that has the
    new text stays.

    ``src/app_pins.h`` of the board ``pico`` becomes ``src/app_pins.pico.h``, or ``src/app_pins.pico.2.h`` if that
    exists.
    """
    board = before.get("board")
    if not isinstance(board, str) or all(
        key not in before or before[key] == project.get(key) for key in _KEYS
    ):
        return
    for name in (PINS, OVERLAY):
        path = directory / name
        if path.is_file() and path.read_bytes() != new_files.get(name, "").encode():
            path.rename(_free(path, Path(board).name))


def _free(path: Path, board: str) -> Path:
    """Return the name of a file that does not exist, for the file ``path`` of ``board``."""
    place = path.with_name(f"{path.stem}.{board}{path.suffix}")
    count = 1
    while place.exists():
        count += 1
        place = path.with_name(f"{path.stem}.{board}.{count}{path.suffix}")
    return place
