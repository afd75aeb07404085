"""Refuse to write an application over another one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.firmware.app.pins_of_sensor import previous_manifest
from arenite.host.build.library import identifier


def check_folder(
    directory: Path, names: tuple[str, ...], board: str, sensor: str, is_replaced: bool = False
) -> None:
    """Raise ``UsageError`` if ``directory`` has an application with other models, another board or another sensor, or a
    project of another kind, unless ``is_replaced``.

    ``names`` are those of the models in C: a new version of a model has the name of the one before. A folder without a
    manifest that can be read is left to ``write_folder``, which tells what is wrong with it.
    """
    manifest = previous_manifest(directory)
    if not manifest or is_replaced:
        return
    present = _description(_names(manifest), manifest.get("board"), manifest.get("sensor"))
    asked = _description(names, board, sensor)
    is_app = manifest.get("protocol") == "app"
    if is_app and present == asked:
        return
    kind = "the application" if is_app else "the firmware project"
    raise UsageError(
        f"{directory} holds {kind} {present}; {asked} would replace it.",
        "Give another folder with -o, or add --replace: src/main.c stays, and the pins of the old application are kept "
        "beside the new ones.",
    )


def _names(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the models of a project."""
    entries = [manifest[key] for key in ("model", "cascade") if isinstance(manifest.get(key), dict)]
    return tuple(str(_name(entry, "updates" in manifest)) for entry in entries)


def _name(entry: Mapping[str, Any], has_updates: bool) -> Any:
    """Return the name of a model. With updates, all models have the same name in C, so it is that of the file."""
    name = None if has_updates else entry.get("name")
    return name or identifier(Path(str(entry.get("path"))).stem)


def _description(names: tuple[str, ...], board: Any, sensor: Any) -> str:
    """Return what is compared, for display."""
    text = f"{' and '.join(names)} on {board}"
    return f"{text} with the sensor {sensor}" if isinstance(sensor, str) else text
