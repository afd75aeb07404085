"""The frames that the C code of applications writes are decoded, also damaged ones and those among lines of text."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.host.link.frames import FrameDecoder, encode_frame
from arenite.host.live.message_decoder import MessageDecoder
from arenite.host.live.messages import Message, MissingFrames, Samples, Text, Type
from tests.example_count import example_count
from tests.firmware.app.compiled_app import compiled
from tests.firmware.app.console_port import PORT


class FrameConsole:
    """The console of an application, whose port accepts a limited number of bytes."""

    def __init__(self, folder: Path) -> None:
        self._library = compiled(folder, ["console.c"], PORT, {})
        self._library.console_use_frames(1)

    def frame(self, kind: int, form: int, data: bytes) -> None:
        self._library.console_frame(kind, form)
        for byte in data:
            self._library.console_value(ctypes.c_uint64(byte), 1)
        self._library.console_end()

    def line(self, text: str) -> None:
        self._library.console_begin()
        self._library.console_text(text.encode())
        self._library.console_end()

    def sent(self) -> bytes:
        self._library.set_room(1 << 30)
        self._library.console_poll()
        data = (ctypes.c_uint8 * 4096)()
        return bytes(data[: self._library.take(data)])

    @property
    def dropped(self) -> int:
        return int(self._library.console_dropped_frames())


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> FrameConsole:
    return FrameConsole(tmp_path_factory.mktemp("console"))


def _samples(values: np.ndarray, at: int = 0) -> bytes:
    return at.to_bytes(8, "little") + values.astype("<i2").tobytes()


@settings(max_examples=example_count(60), deadline=None)
@given(st.binary(max_size=237), st.integers(1, 255))
def test_the_c_code_and_python_encode_the_same_frame(console: FrameConsole, data: bytes, form: int) -> None:
    console.sent()
    console.frame(3, form, data)
    sent = console.sent()
    (payload,) = _payloads(sent)
    assert sent == encode_frame(bytes([3, form]) + payload[2:4] + data)


def _payloads(sent: bytes) -> list[bytes]:
    return [payload for payload in FrameDecoder().feed(sent) if isinstance(payload, bytes)]


def test_frames_that_do_not_fit_are_dropped_and_their_numbers_are_missing(console: FrameConsole) -> None:
    console.sent()
    before = console.dropped
    decoder = MessageDecoder()
    console.line("first")
    list(decoder.feed(console.sent()))
    values = np.arange(100, dtype=np.int16)
    for at in range(0, 1000, 100):
        console.frame(Type.SAMPLES, 1, _samples(values, at))
    console.frame(Type.SAMPLES, 1, bytes(246))  # longer than a frame may be
    messages = list(decoder.feed(console.sent()))
    kept = [message for message in messages if isinstance(message, Samples)]
    assert [message.at for message in kept] == list(range(0, 100 * len(kept), 100))
    assert console.dropped - before == 11 - len(kept) > 0
    console.line("last")
    assert list(decoder.feed(console.sent())) == [MissingFrames(11 - len(kept)), Text("last")]


def test_samples_of_several_channels(console: FrameConsole) -> None:
    values = np.arange(-9, 9).reshape(6, 3)
    console.frame(Type.SAMPLES, 3, _samples(values, 77))
    (message,) = [m for m in MessageDecoder().feed(console.sent()) if isinstance(m, Samples)]
    assert message.at == 77 and (message.values == values).all()


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_text_frames_and_damage_in_pieces_of_any_size(data: st.DataObject) -> None:
    def frame(number: int) -> bytes:
        return encode_frame(bytes([Type.TEXT, 0]) + number.to_bytes(2, "little") + b"n%d" % number)

    damaged = bytearray(frame(1))
    damaged[5] ^= 0x55
    stream = b"Started\nhello \xc3\xa4\r\n" + frame(0) + bytes(damaged) + frame(2) + b"\0after\n"
    decoder = MessageDecoder()
    messages: list[Message] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        messages += decoder.feed(stream[:size])
        stream = stream[size:]
    assert messages == [
        Text("Started"),
        Text("hello ä"),
        Text("n0"),
        MissingFrames(1),
        Text("n2"),
        Text("after"),
    ]
    assert decoder.damaged == 1
