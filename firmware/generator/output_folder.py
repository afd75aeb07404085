"""Write a generated folder: add the new files, remove generated files of an earlier run, and keep the user's files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from arenite.errors import UsageError
from arenite.files import replace_file
from arenite.input_files import parse_json, read_text

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
        listed = parse_json(read_text(manifest))["files"]
        # Files outside the project are never removed, even if the manifest lists them.
        names = [Path(name) for name in listed if isinstance(name, str)]
        return [str(name) for name in names if ".." not in name.parts and not name.is_absolute()]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{manifest} is damaged.", "Remove the directory and generate it again.") from error


def _check_inside(directory: Path, name: str) -> None:
    """Raise ``UsageError`` if the file, or a folder on the way to it, is a link: it may lead out of the directory."""
    path = Path(name)
    for part in (path, *path.parents):
        if part != Path(".") and (directory / part).is_symlink():
            raise UsageError(
                f"{directory / part} is a link, so {name} could be written outside of {directory}.",
                "Remove the link, or give a new directory with -o.",
            )


def write_folder(directory: Path, files: Mapping[str, str | bytes]) -> None:
    """Write ``files`` into ``directory`` and remove files of an earlier run. The manifest is written last.

    An unchanged file keeps its time stamp, so a second build compiles only the files that differ.
    """
    obsolete = set(_previous_files(directory)) - set(files)
    for name in sorted([*obsolete, *files]):
        _check_inside(directory, name)
    for name in obsolete:
        (directory / name).unlink(missing_ok=True)
    for name, content in sorted(files.items(), key=lambda item: item[0] == MANIFEST):
        path = directory / name
        data = content.encode("utf-8") if isinstance(content, str) else content
        if path.is_file() and path.read_bytes() == data:
            continue
        replace_file(path, data, durable=False)  # the files can be generated again
