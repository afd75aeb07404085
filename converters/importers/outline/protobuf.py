"""Split a protocol buffer message into its fields. ONNX models and SavedModels are such messages."""

from __future__ import annotations

from collections.abc import Iterator

#: The value of a field: a number, or the bytes of a text, of packed numbers or of another message.
Value = int | memoryview

#: A message with more fields, or a field with more packed numbers, is not read: it would take too much memory and time.
MAX_FIELDS = 200_000
MAX_NUMBERS = 10_000

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class TooLargeError(Exception):
    """A message has more than ``MAX_FIELDS`` fields, or a field more than ``MAX_NUMBERS`` numbers."""


def fields(message: memoryview) -> Iterator[tuple[int, Value]]:
    """Yield (field number, value) for each field of ``message``, in order. Numbers of fixed size are yielded as bytes.

    No bytes are copied. Raises ``ValueError`` if the message is damaged, and ``TooLargeError``.
    """
    position, end, count = 0, len(message), 0
    while position < end:
        count += 1
        if count > MAX_FIELDS:
            raise TooLargeError
        key, position = _varint(message, position)
        wire_type = key & 7
        if wire_type == _VARINT:
            number, position = _varint(message, position)
            yield key >> 3, number
            continue
        if wire_type == _BYTES:
            size, position = _varint(message, position)
        elif wire_type in (_FIXED64, _FIXED32):
            size = 8 if wire_type == _FIXED64 else 4
        else:
            raise ValueError(f"byte {position} begins a field of the unknown type {wire_type}")
        if size > end - position:
            raise ValueError(f"a field of {size:,} bytes begins at byte {position:,} of {end:,}")
        yield key >> 3, message[position : position + size]
        position += size


def _varint(message: memoryview, position: int) -> tuple[int, int]:
    """Return (number, position behind it). A number has 7 bits in each byte, the lowest first."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(message):
            raise ValueError("it ends in the middle of a number")
        byte = message[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
    raise ValueError(f"byte {position:,} continues a number beyond 64 bits")


def messages(message: memoryview, number: int) -> Iterator[memoryview]:
    """Yield the messages in the fields ``number`` of ``message``. Raises ``ValueError``."""
    for key, value in fields(message):
        if key == number:
            yield _bytes(value)


def texts(message: memoryview, number: int) -> list[str]:
    """Return the texts in the fields ``number`` of ``message``. Raises ``ValueError``."""
    return [str(part, "utf-8", "replace") for part in messages(message, number)]


def text(message: memoryview, number: int) -> str:
    """Return the last text in a field ``number`` of ``message``, or "". Raises ``ValueError``."""
    return (texts(message, number) or [""])[-1]


def numbers(message: memoryview, number: int) -> list[int]:
    """Return the signed integers in the fields ``number`` of ``message``, single or packed. Raises ``ValueError``."""
    result = []
    for key, value in fields(message):
        if key != number:
            continue
        if isinstance(value, int):
            result.append(_signed(value))
            continue
        position = 0
        while position < len(value):
            item, position = _varint(value, position)
            result.append(_signed(item))
            if len(result) > MAX_NUMBERS:
                raise TooLargeError
    return result


def _bytes(value: Value) -> memoryview:
    if isinstance(value, int):
        raise ValueError("a field holds a number where bytes are expected")
    return value


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
