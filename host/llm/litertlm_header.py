"""Read the sections of a LiteRT-LM bundle (.litertlm): where each begins and ends, and what it is.

A bundle begins with the bytes ``LITERTLM``, the three numbers of its version, and, at byte 24, where its header ends.
The header is a flatbuffer from byte 32 on (litertlm_header_schema.fbs of google-ai-edge/LiteRT-LM).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from arenite.errors import ModelError

MAGIC = b"LITERTLM"
_END_AT, _BEGIN = 24, 32
#: The types of sections that have weights.
TFLITE, WEIGHTS = 3, 7
# The positions of the fields in their tables, and the number of texts in the union of values.
_SECTIONS, _OBJECTS = 1, 0
_ITEMS, _BEGIN_OFFSET, _END_OFFSET, _DATA_TYPE = 0, 1, 2, 3
_KEY, _VALUE_TYPE, _VALUE = 0, 1, 2
_TEXT = 9
#: A bundle has about ten sections.
_MAX_ENTRIES = 1000


@dataclass(frozen=True)
class Section:
    """A section from byte ``begin`` to ``end``. ``model``: what its model is for, such as "tf_lite_prefill_decode"."""

    kind: int
    begin: int
    end: int
    model: str

    @property
    def bytes(self) -> int:
        return self.end - self.begin


def read_sections(data: memoryview, name: str) -> tuple[Section, ...]:
    """Return the sections of the bundle ``data``. Raises ``ModelError``, which names the file ``name``."""
    try:
        if bytes(data[:8]) != MAGIC:
            raise ValueError("it does not begin with LITERTLM")
        (end,) = struct.unpack_from("<Q", data, _END_AT)
        if not _BEGIN < end <= len(data):
            raise ValueError(f"its header ends at byte {end:,} of {len(data):,}")
        header = data[_BEGIN:end]
        sections = _table(header, _table(header, 0, None), _SECTIONS)
        return tuple(_section(header, entry, len(data)) for entry in _entries(header, sections, _OBJECTS))
    except (ValueError, struct.error) as error:
        raise ModelError(f"{name} is damaged: {error}.", "Download the bundle again.") from error


def _section(header: memoryview, entry: int, size: int) -> Section:
    begin, end = (_number(header, entry, slot, "<Q") for slot in (_BEGIN_OFFSET, _END_OFFSET))
    if not begin <= end <= size:
        raise ValueError(f"a section from byte {begin:,} to {end:,} does not fit into {size:,}")
    model = ""
    for item in _entries(header, entry, _ITEMS):
        if _text(header, item, _KEY) == "model_type" and _number(header, item, _VALUE_TYPE, "<B") == _TEXT:
            model = _text(header, _table(header, item, _VALUE), 0)
    return Section(_number(header, entry, _DATA_TYPE, "<B"), begin, end, model)


def _unpack(header: memoryview, code: str, at: int) -> int:
    if at < 0:
        raise ValueError("an offset in its header is negative")
    return int(struct.unpack_from(code, header, at)[0])


def _field(header: memoryview, table: int, slot: int) -> int:
    """Return the position of a field of the table at ``table``, or 0 if it is absent."""
    fields = table - _unpack(header, "<i", table)
    at = 4 + 2 * slot
    offset = _unpack(header, "<H", fields + at) if at < _unpack(header, "<H", fields) else 0
    return table + offset if offset else 0


def _number(header: memoryview, table: int, slot: int, code: str) -> int:
    at = _field(header, table, slot)
    return _unpack(header, code, at) if at else 0


def _table(header: memoryview, table: int, slot: int | None) -> int:
    """Return the position of what a field refers to; without a field, that of the root."""
    at = 0 if slot is None else _field(header, table, slot)
    if slot is not None and not at:
        raise ValueError("a table in its header lacks a field")
    return at + _unpack(header, "<I", at)


def _entries(header: memoryview, table: int, slot: int) -> list[int]:
    """Return the positions of the tables in a vector, which may be absent."""
    if not _field(header, table, slot):
        return []
    vector = _table(header, table, slot)
    count = _unpack(header, "<I", vector)
    if count > _MAX_ENTRIES:
        raise ValueError(f"a list in its header has {count:,} entries")
    places = (vector + 4 + 4 * index for index in range(count))
    return [at + _unpack(header, "<I", at) for at in places]


def _text(header: memoryview, table: int, slot: int) -> str:
    at = _table(header, table, slot)
    length = _unpack(header, "<I", at)
    return bytes(header[at + 4 : at + 4 + length]).decode("utf-8", "replace")
