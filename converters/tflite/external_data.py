"""Read data that a large model stores in its file after the flatbuffer. The flatbuffer has its offset and size."""

from __future__ import annotations

from arenite.errors import ModelError


class ExternalData:
    """Reads data in ``file``, which is the complete file including the flatbuffer."""

    def __init__(self, file: memoryview) -> None:
        self._file = file
        self._remaining_bytes = 2 * len(file)

    def take(self, location: str, field: str, offset: int, size: int) -> memoryview:
        """Return ``size`` bytes at ``offset`` of the file. If ``offset`` is 0 or 1, which in the schema means that the
        table has no such data, the result is empty.

        ``location`` and ``field`` are for the error message. Raises ``ModelError`` if the bytes are outside the file,
        or if all calls together return more than twice the size of the file.
        """
        if offset <= 1 or size == 0:
            return self._file[:0]
        self._remaining_bytes -= size
        if offset + size > len(self._file) or self._remaining_bytes < 0:
            problem = (
                "run past the end of the file"
                if offset + size > len(self._file)
                else "are shared by too many tables"
            )
            raise ModelError(
                f"{location}, field {field} offset and size: its {size:,} bytes at {offset:,} {problem} "
                f"({len(self._file):,} bytes).",
                "The file was cut short or is damaged: download or convert it again.",
            )
        return self._file[offset : offset + size]
