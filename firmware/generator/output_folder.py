"""A generated folder on disk: it gets the new files, loses those of an earlier run, and keeps the user's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from arenite.errors import UsageError
from arenite.files import replace_file

#: The manifest: it lists the generated files of the folder.
MANIFEST = "arenite.json"


def _previous_files(directory: Path) -> list[str]:
    """Files that an earlier project left in ``directory``; empty for a new one."""
    manifest = directory / MANIFEST
    if not manifest.exists():
        if directory.exists() and any(directory.iterdir()):
            raise UsageError(
                f"{directory} is not empty and is not an Arenite project.",
                "Give -o a new or empty directory.",
            )
        return []
    try:
        listed = json.loads(manifest.read_text("utf-8"))["files"]
        # Nothing outside the project is ever removed, whatever the manifest lists.
        names = [Path(name) for name in listed if isinstance(name, str)]
        return [str(name) for name in names if ".." not in name.parts and not name.is_absolute()]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{manifest} is damaged.", "Remove the directory and generate it again.") from error


def write_folder(directory: Path, files: Mapping[str, str]) -> None:
    """Bring ``directory`` to exactly ``files``: each is replaced whole, the manifest last; unchanged ones are kept.

    An unchanged file keeps its time stamp, so that a second build compiles only what differs.
    """
    for name in set(_previous_files(directory)) - set(files):
        (directory / name).unlink(missing_ok=True)
    for name, text in sorted(files.items(), key=lambda item: item[0] == MANIFEST):
        path = directory / name
        data = text.encode("utf-8")
        if path.is_file() and path.read_bytes() == data:
            continue
        replace_file(path, data, durable=False)  # some dozens, and all can be generated again
