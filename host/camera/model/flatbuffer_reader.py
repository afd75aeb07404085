"""Read single fields of a flatbuffer in place.

Only the requested fields are parsed, so that the time does not depend on the size of the model. The format is described
at https://flatbuffers.dev/internals. For a damaged file, every method raises ``ValueError`` and reads no byte outside
the buffer.
"""

from __future__ import annotations

import struct
from typing import Any

Buffer = bytes | memoryview
_U16, _U32, _I32 = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<i")


class TableView:
    """The table at byte ``at`` of ``data``.

    ``field`` is the number of a field in the schema, from 0; a union counts as two fields. An absent field has the
    default, None or no elements.
    """

    __slots__ = ("_data", "_fields", "at")

    def __init__(self, data: Buffer, at: int) -> None:
        self._data, self.at = data, at
        start = at - self._read(_I32, at)
        size = self._read(_U16, start)
        self._fields = struct.unpack_from(
            f"<{(size - 4) // 2}H", _checked(data, start + 4, size - 4), start + 4
        )

    @staticmethod
    def root(data: Buffer) -> TableView:
        if len(data) < 8:
            raise ValueError("it is too short")
        return TableView(data, _U32.unpack_from(data, 0)[0])

    def scalar(self, field: int, format: str, default: float = 0) -> float:
        """Return the number in ``field``. ``format`` is its format character in the module ``struct``."""
        at = self._position(field)
        return self._read(struct.Struct("<" + format), at) if at else default

    def integer(self, field: int, format: str = "i", default: int = 0) -> int:
        return int(self.scalar(field, format, default))

    def table(self, field: int) -> TableView | None:
        at = self._position(field)
        return TableView(self._data, at + self._read(_U32, at)) if at else None

    def tables(self, field: int) -> list[TableView]:
        start, count = self._vector(field, 4)
        positions = range(start, start + 4 * count, 4)
        return [TableView(self._data, at + self._read(_U32, at)) for at in positions]

    def table_of(self, field: int, index: int) -> TableView:
        """Return the table ``index`` of a vector of tables."""
        start, count = self._vector(field, 4)
        if not 0 <= index < count:
            raise ValueError(f"there is no entry {index} of {count}")
        at = start + 4 * index
        return TableView(self._data, at + self._read(_U32, at))

    def numbers(self, field: int, format: str) -> tuple[float, ...]:
        start, count = self._vector(field, struct.calcsize("<" + format))
        return struct.unpack_from(f"<{count}{format}", self._data, start)

    def integers(self, field: int, format: str = "i") -> tuple[int, ...]:
        return tuple(int(value) for value in self.numbers(field, format))

    def bytes(self, field: int) -> bytes:
        start, count = self._vector(field, 1)
        return bytes(self._data[start : start + count])

    def text(self, field: int) -> str:
        return self.bytes(field).decode("utf-8", "replace")

    def _vector(self, field: int, size: int) -> tuple[int, int]:
        """Return the position of a vector's first element, and the number of elements. An element has ``size``
        bytes."""
        at = self._position(field)
        if not at:
            return 0, 0
        start = at + self._read(_U32, at)
        count = self._read(_U32, start)
        _checked(self._data, start + 4, count * size)
        return start + 4, count

    def _position(self, field: int) -> int:
        """Return the position of a field in the file; 0 for a field that is absent."""
        offset = self._fields[field] if field < len(self._fields) else 0
        return self.at + offset if offset else 0

    def _read(self, kind: struct.Struct, at: int) -> Any:
        return kind.unpack_from(_checked(self._data, at, kind.size), at)[0]


def _checked(data: Buffer, at: int, size: int) -> Buffer:
    """Return ``data``, after checking that it contains ``size`` bytes at ``at``."""
    if at < 0 or size < 0 or at + size > len(data):
        raise ValueError("it is cut off or damaged")
    return data
