"""Read the fields of protocol buffer messages without a schema or a library."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # the wire types of protocol buffers


def message_fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the number and the value of each field of a message. A floating-point value is an integer with its bits.

    Raises ``ValueError`` if the message is damaged.
    """
    at = 0
    while at < len(data):
        number, value, at = read_field(data, at)
        yield number, value


def read_field(data: memoryview, at: int) -> tuple[int, int | memoryview, int]:
    """Return the number and the value of the field at byte ``at``, as ``message_fields`` does, and the position after
    it. Raises ``ValueError``."""
    tag, at = read_varint(data, at)
    kind = tag & 7
    if kind == VARINT:
        value, at = read_varint(data, at)
        return tag >> 3, value, at
    if kind == BYTES:
        size, at = read_varint(data, at)
    elif kind in (FIXED64, FIXED32):
        size = 8 if kind == FIXED64 else 4
    else:
        raise ValueError("it is not a protocol buffer")
    end = at + size
    if end > len(data):
        raise ValueError(f"a field of {size:,} bytes begins at byte {at:,} of {len(data):,}")
    part = data[at:end]
    return tag >> 3, part if kind == BYTES else int.from_bytes(part, "little"), end


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


def packed(data: memoryview) -> Iterator[int]:
    """Yield the variable-length integers in the bytes of a packed field. Raises ``ValueError``."""
    at = 0
    while at < len(data):
        number, at = read_varint(data, at)
        yield number


def signed(number: int) -> int:
    """Return the value of a signed 64-bit integer that a message stores as ``number``."""
    number &= (1 << 64) - 1
    return number - (1 << 64) if number >> 63 else number


def as_message(value: int | memoryview | None) -> memoryview:
    """Return the bytes of a field, or no bytes if the field is absent or a number."""
    return value if isinstance(value, memoryview) else memoryview(b"")


def as_text(value: int | memoryview | None) -> str:
    """Return the text of a field. Bytes that are not UTF-8 are replaced."""
    return bytes(as_message(value)).decode("utf-8", "replace")
