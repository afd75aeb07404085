"""Decoding COBS packets and frames returns the encoded data, and damaged frames are always detected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.host.link import cobs
from arenite.host.link.frames import MAX_ENCODED, DamagedFrame, FrameDecoder, encode_frame

BYTES = st.binary(max_size=700) | st.lists(st.sampled_from([b"\0", b"a" * 253, b"b" * 254, b"c" * 255])).map(
    b"".join
)


@given(BYTES)
def test_decoding_cobs_returns_the_encoded_data(data: bytes) -> None:
    encoded = cobs.encode(data)
    assert 0 not in encoded
    assert len(encoded) <= len(data) + len(data) // 254 + 1
    assert cobs.decode(encoded) == data


@pytest.mark.parametrize(
    ("data", "encoded"),
    [
        (b"", b"\x01"),
        (b"\0", b"\x01\x01"),
        (b"\x11\x22\0\x33", b"\x03\x11\x22\x02\x33"),
        (bytes(range(1, 255)), b"\xff" + bytes(range(1, 255))),
        (bytes(range(1, 256)), b"\xff" + bytes(range(1, 255)) + b"\x02\xff"),
    ],
)
def test_data_are_encoded_as_in_the_description_of_cobs(data: bytes, encoded: bytes) -> None:
    assert cobs.encode(data) == encoded


@pytest.mark.parametrize("packet", [b"", b"\x03\x11", b"\x02\0", b"\x05abc"])
def test_cobs_rejects_invalid_packets(packet: bytes) -> None:
    with pytest.raises(ValueError, match="COBS"):
        cobs.decode(packet)


@given(st.lists(st.binary(min_size=4, max_size=250), min_size=1, max_size=6), st.integers(1, 40))
def test_frames_are_decoded_from_chunks(payloads: list[bytes], chunk_size: int) -> None:
    stream = b"".join(map(encode_frame, payloads))
    decoder = FrameDecoder()
    actual = [
        f
        for offset in range(0, len(stream), chunk_size)
        for f in decoder.feed(stream[offset : offset + chunk_size])
    ]
    assert actual == payloads


@given(st.binary(min_size=4, max_size=250), st.data())
def test_a_changed_byte_is_detected(payload: bytes, data: st.DataObject) -> None:
    frame = bytearray(encode_frame(payload))
    offset = data.draw(st.integers(1, len(frame) - 2))
    frame[offset] ^= data.draw(st.integers(1, 255))
    undamaged = [f for f in FrameDecoder().feed(bytes(frame)) if not isinstance(f, DamagedFrame)]
    assert undamaged == []


@given(st.binary(max_size=300), st.binary(min_size=4, max_size=250))
def test_a_frame_after_noise_is_decoded(noise: bytes, payload: bytes) -> None:
    assert payload in list(FrameDecoder().feed(noise + encode_frame(payload)))


def test_long_noise_does_not_fill_memory() -> None:
    decoder = FrameDecoder()
    assert [type(f) for f in decoder.feed(b"x" * (MAX_ENCODED + 1))] == [DamagedFrame]
    assert list(decoder.feed(encode_frame(b"abcd"))) == [b"abcd"]
