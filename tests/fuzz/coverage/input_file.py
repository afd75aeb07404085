"""A file for the inputs of a fuzz target."""

from __future__ import annotations

import tempfile
from pathlib import Path


class InputFile:
    """A file for one input after the other. It stays open, because opening it takes longer than reading most inputs."""

    def __init__(self, suffix: str = "", path: Path | None = None) -> None:
        """Open the new file ``path``, or a temporary file whose name ends with ``suffix``."""
        opened = path and path.open("wb", buffering=0)
        self._file = opened or tempfile.NamedTemporaryFile(suffix=suffix, buffering=0)  # noqa: SIM115 it stays open
        self.path = path or Path(str(self._file.name))

    def write(self, data: bytes) -> Path:
        """Replace the content, and return the file's path."""
        self._file.seek(0)
        self._file.write(data)
        self._file.truncate()
        return self.path
