"""Read the texts, numbers and messages in a field of a protocol buffer message, with limits of their number.

ONNX models and SavedModels are such messages.
"""

from __future__ import annotations

from collections.abc import Iterator

from arenite.converters.importers.protobuf import message_fields, packed, signed

#: A message with more fields, or a field with more packed numbers, is not read: it would take too much memory and time.
MAX_FIELDS = 200_000
MAX_NUMBERS = 10_000


class TooLargeError(Exception):
    """A message has more than ``MAX_FIELDS`` fields, or a field more than ``MAX_NUMBERS`` numbers."""


def _field_values(message: memoryview, number: int) -> Iterator[int | memoryview]:
    """Yield the values of the fields ``number`` of ``message``. Raises ``ValueError`` and ``TooLargeError``."""
    for count, (key, value) in enumerate(message_fields(message)):
        if count >= MAX_FIELDS:
            raise TooLargeError
        if key == number:
            yield value


def messages(message: memoryview, number: int) -> Iterator[memoryview]:
    """Yield the messages in the fields ``number`` of ``message``. Raises ``ValueError``."""
    for value in _field_values(message, number):
        if isinstance(value, int):
            raise ValueError("a field holds a number where bytes are expected")
        yield value


def texts(message: memoryview, number: int) -> list[str]:
    """Return the texts in the fields ``number`` of ``message``. Raises ``ValueError``."""
    return [str(part, "utf-8", "replace") for part in messages(message, number)]


def text(message: memoryview, number: int) -> str:
    """Return the last text in a field ``number`` of ``message``, or "". Raises ``ValueError``."""
    return (texts(message, number) or [""])[-1]


def numbers(message: memoryview, number: int) -> list[int]:
    """Return the signed integers in the fields ``number`` of ``message``, single or packed. Raises ``ValueError``."""
    result: list[int] = []
    for value in _field_values(message, number):
        if isinstance(value, int):
            result.append(signed(value))
            continue
        for item in packed(value):
            result.append(signed(item))
            if len(result) > MAX_NUMBERS:
                raise TooLargeError
    return result
