"""Write a generated folder: add the new files, remove generated files of an earlier run, and keep the user's files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from arenite.errors import UsageError
from arenite.files import replace_file

#: Name of the manifest, which lists the generated files of the folder.
MANIFEST = "arenite.json"


def _previous_files(directory: Path) -> list[str]:
    """Return the files that an earlier run generated in ``directory``; none for a new directory.

    Raises ``UsageError`` if the directory has other files or its manifest is damaged.
    """
    manifest = directory / MANIFEST
    if not manifest.exists():
        if directory.exists() and any(directory.iterdir()):
            raise UsageError(
                f"{directory} is not empty and is not an Arenite project.",
                "Give a new or empty directory with -o.",
            )
        return []
    try:
        listed = json.loads(manifest.read_text("utf-8"))["files"]
        # Files outside the project are never removed, even if the manifest lists them.
        names = [Path(name) for name in listed if isinstance(name, str)]
        return [str(name) for name in names if ".." not in name.parts and not name.is_absolute()]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{manifest} is damaged.", "Remove the directory and generate it again.") from error


def write_folder(directory: Path, files: Mapping[str, str]) -> None:
    """Write ``files`` into ``directory`` and remove files of an earlier run. The manifest is written last.

    An unchanged file keeps its time stamp, so a second build compiles only the files that differ.
    """
    for name in set(_previous_files(directory)) - set(files):
        (directory / name).unlink(missing_ok=True)
    for name, text in sorted(files.items(), key=lambda item: item[0] == MANIFEST):
        path = directory / name
        data = text.encode("utf-8")
        if path.is_file() and path.read_bytes() == data:
            continue
        replace_file(path, data, durable=False)  # the files can be generated again
