"""Read files of a repository, with a sentence if that is not possible."""

from __future__ import annotations

from pathlib import Path

from arenite.errors import UsageError
from arenite.input_files import read_bytes


def read_file(path: Path, max_bytes: int) -> bytes:
    """Return the content of a file. Raises ``UsageError``."""
    try:
        return read_bytes(path, max_bytes)
    except OSError as error:
        raise UsageError(
            f"Cannot read {path}: {error.strerror or error}.",
            "Check the path and the permissions of the file.",
        ) from error
