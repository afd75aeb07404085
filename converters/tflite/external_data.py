"""Bytes that a large model keeps in its file behind the flatbuffer, found by offset and size."""

from __future__ import annotations

from arenite.errors import ModelError


class ExternalData:
    """Finds such bytes in ``file`` (the whole file, including the flatbuffer)."""

    def __init__(self, file: memoryview) -> None:
        self._file = file
        self._left = 2 * len(file)

    def take(self, location: str, field: str, offset: int, size: int) -> memoryview:
        """``size`` bytes at ``offset``; nothing when ``offset`` is 0 or 1, which the schema uses for "not here".

        Raises ``ModelError`` outside the file, and when entries overlap so much that they add up to twice the file.
        """
        if offset <= 1 or size == 0:
            return self._file[:0]
        self._left -= size
        if offset + size > len(self._file) or self._left < 0:
            problem = (
                "run past the end of the file" if offset + size > len(self._file) else "are shared too often"
            )
            raise ModelError(
                f"{location}, field {field} offset and size: its {size:,} bytes at {offset:,} {problem} "
                f"({len(self._file):,} bytes).",
                "The file was cut short or is damaged: download or convert it again.",
            )
        return self._file[offset : offset + size]
