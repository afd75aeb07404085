"""Read the fields of protocol buffer messages without a schema or a library."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # the wire types of protocol buffers


def message_fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the number and the value of each field of a message. A floating-point value is an integer with its bits.

    Raises ``ValueError`` if the message is damaged.
    """
    at, end = 0, len(data)
    while at < end:
        tag, at = read_varint(data, at)
        kind = tag & 7
        if kind == VARINT:
            value, at = read_varint(data, at)
            yield tag >> 3, value
            continue
        if kind == BYTES:
            size, at = read_varint(data, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise ValueError("it is not a protocol buffer")
        if at + size > end:
            raise ValueError(f"a field of {size:,} bytes begins at byte {at:,} of {end:,}")
        part = data[at : at + size]
        at += size
        yield tag >> 3, part if kind == BYTES else int.from_bytes(part, "little")


def read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return the variable-length integer at byte ``at``, and the position after it. Raises ``ValueError``."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("it is cut off or damaged")
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
        shift += 7


def as_message(value: int | memoryview | None) -> memoryview:
    """Return the bytes of a field, or no bytes if the field is absent or a number."""
    return value if isinstance(value, memoryview) else memoryview(b"")


def as_text(value: int | memoryview | None) -> str:
    """Return the text of a field. Bytes that are not UTF-8 are replaced."""
    return bytes(as_message(value)).decode("utf-8", "replace")
