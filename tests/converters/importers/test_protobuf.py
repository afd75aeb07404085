"""Fields of protocol buffers are read as their specification says."""

from __future__ import annotations

import pytest

from arenite.converters.importers.protobuf import message_fields, packed, read_field, signed

#: The varint 300 (field 1), the text "ab" (field 2), a float32 1.0 (field 3) and eight bytes (field 4).
MESSAGE = memoryview(b"\x08\xac\x02\x12\x02ab\x1d\x00\x00\x80\x3f\x21\x01\0\0\0\0\0\0\0")


def test_a_field_has_a_number_a_value_and_an_end_position() -> None:
    assert list(message_fields(MESSAGE)) == [(1, 300), (2, b"ab"), (3, 0x3F800000), (4, 1)]
    assert read_field(MESSAGE, 3) == (2, b"ab", 7)


@pytest.mark.parametrize("end", [1, 2, 4, 6, 9, 15])
def test_a_message_that_is_cut_off_is_an_error(end: int) -> None:
    with pytest.raises(ValueError):
        list(message_fields(MESSAGE[:end]))


def test_an_unknown_type_of_field_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a protocol buffer"):
        read_field(memoryview(b"\x0b"), 0)


def test_packed_integers_are_signed_with_64_bits() -> None:
    data = memoryview(b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xac\x02")
    assert [signed(n) for n in packed(data)] == [1, -1, 300]
    with pytest.raises(ValueError, match="cut off"):
        list(packed(data[:5]))
