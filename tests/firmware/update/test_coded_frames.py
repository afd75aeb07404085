"""The Reed-Solomon code of the device agrees with the package reedsolo, and frames are found behind damage."""

from __future__ import annotations

import ctypes
import random
import subprocess

import pytest

from arenite.firmware.sources import UPDATE
from arenite.host.update.coded_frames import (
    LONG,
    MAX_FRAME_BYTES,
    MAX_MESSAGE_BYTES,
    PARITY_BYTES,
    SHORT,
    CodedDecoder,
    encode_coded,
)
from arenite.host.update.plain_frames import PlainDecoder, encode_plain
from arenite.host.update.smp_message import (
    GROUP_OS,
    GROUP_STATISTICS,
    READ,
    WRITE,
    decode_answer,
    encode_request,
)
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.firmware.update.update_board import Board

reedsolo = pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
STRICT = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion", "-Wshadow")


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("rs") / "rs.so"
    flags = ("-fsanitize=undefined", "-fno-sanitize-recover=all", "-fPIC", "-shared")
    source = str(UPDATE.path("reed_solomon.c"))
    subprocess.run(["gcc", *STRICT, *flags, *UPDATE.include_flags, source, "-o", str(path)], check=True)
    return ctypes.CDLL(str(path))


@pytest.mark.parametrize("size", [64, 255, 17])
def test_the_device_repairs_what_reedsolo_encodes(code: ctypes.CDLL, size: int) -> None:
    draw = random.Random(size)
    codec = reedsolo.RSCodec(PARITY_BYTES, nsize=255)
    refused = 0
    for case in range(600):
        data = draw.randbytes(size - PARITY_BYTES)
        block = bytes(codec.encode(data))
        parity = (ctypes.c_uint32 * 4)()
        for byte in data:
            code.ar_rs_add(parity, byte)
        assert b"".join(word.to_bytes(4, "big") for word in parity) == block[-PARITY_BYTES:]
        wrong = bytearray(block)
        errors = case % 13 if size > 20 else case % 9
        for place in draw.sample(range(size), errors):
            wrong[place] ^= draw.randrange(1, 256)
        stride = 1 + case % 2
        spread = bytearray(b"\xaa" * (size * stride))
        spread[::stride] = wrong
        buffer = (ctypes.c_uint8 * len(spread)).from_buffer(spread)
        result = code.ar_rs_repair(buffer, size, stride)
        if errors <= PARITY_BYTES // 2:
            assert result == errors and spread[::stride] == block
        elif result < 0:
            refused += 1
            assert spread[::stride] == wrong, "a block that cannot be repaired stays as it is"
        if stride == 2:
            assert set(spread[1::2]) == {0xAA}
    assert size < 20 or refused > 100


def test_host_frames_survive_damage_and_what_is_around_them() -> None:
    draw = random.Random(1)
    decoder, messages, sent = CodedDecoder(), [], []
    for case in range(60):
        message = draw.randbytes(draw.choice((8, 44, 45, 200, MAX_MESSAGE_BYTES)))
        frame = bytearray(encode_coded(message))
        for place in draw.sample(range(4, len(frame)), 6):
            frame[place] ^= draw.randrange(1, 256)
        frame[draw.randrange(4)] ^= 0x11  # one byte of the synchronization word
        messages += decoder.feed(b"a line of text\n" if case % 3 else b"")
        messages += decoder.feed(bytes(frame))
        sent.append(message)
    assert messages == sent
    assert decoder.repaired == 60 * 6 and decoder.damaged == 0


@pytest.mark.parametrize("kept", [3, 4, 100, MAX_FRAME_BYTES - 20])
def test_a_frame_behind_one_that_was_cut_off_is_found(kept: int) -> None:
    first, second, third = (encode_coded(bytes([k]) * 300) for k in (1, 2, 3))
    decoder = CodedDecoder()
    messages = decoder.feed(first[:kept] + second + third)
    messages += decoder.end_silence()
    assert messages == [bytes([2]) * 300, bytes([3]) * 300]


def test_plain_frames_are_those_of_the_protocol() -> None:
    """The example of Zephyr's page about SMP over a console, and frames of several lines."""
    for count in (8, 89, 90, 91, 93, 474):
        message = random.Random(count).randbytes(count)
        frame = encode_plain(message)
        assert all(len(line) <= 127 for line in frame.splitlines(keepends=True))
        decoder = PlainDecoder()
        assert decoder.feed(b"text\n" + frame + b"text\n") == [message]
        damaged = bytearray(frame)
        damaged[10] = 0x21
        assert decoder.feed(bytes(damaged)) == [] and decoder.damaged == 1
        assert decoder.feed(frame) == [message]


def request(sequence: int, text: str = "x") -> bytes:
    return encode_request(WRITE, GROUP_OS, 0, sequence, {"d": text})


class Peer:
    """The other end of the line of a board without damage."""

    def __init__(self) -> None:
        self.board = Board()
        self._coded, self._plain = CodedDecoder(), PlainDecoder()

    def exchange(self, data: bytes, ticks: int = 1200) -> list[int]:
        """Send bytes, and return the numbers of the requests that are answered until the line is silent."""
        self.board.send(data)
        numbers = []
        while received := self.board.receive(ticks):
            messages = self._coded.feed(received) + self._plain.feed(received)
            answers = [decode_answer(message) for message in messages]
            numbers += [answer.sequence for answer in answers if answer is not None]
            self.last = answers[-1] if answers else None
        return numbers

    def statistics(self) -> dict[str, int]:
        body = {"name": "update"}
        self.board.send(encode_plain(encode_request(READ, GROUP_STATISTICS, 0, 77, body)))
        while received := self.board.receive(200):
            for message in self._plain.feed(received):
                answer = decode_answer(message)
                assert answer is not None
                fields: dict[str, int] = answer.body["fields"]
        return fields


needs_images = pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)


@needs_images
def test_the_device_takes_frames_one_after_the_other() -> None:
    """While it answers one request it receives the next one, and answers in frames of the same kind."""
    peer = Peer()
    frames = [encode_coded(request(number, "y" * 300)) for number in range(1, 9)]
    assert peer.exchange(b"".join(frames)) == list(range(1, 9))
    assert peer.statistics() == {"frames": 9, "damaged": 0, "repaired": 0, "lost": 0, "resumed": 0}


@needs_images
def test_the_device_repairs_frames_and_finds_the_next_one() -> None:
    draw = random.Random(2)
    peer = Peer()
    wrong = 0
    for number in range(1, 40):
        frame = bytearray(encode_coded(request(number, "z" * draw.choice((0, 10, 300)))))
        for place in draw.sample(range(4, len(frame)), 8):
            frame[place] ^= draw.randrange(1, 256)
        wrong += 8
        assert peer.exchange(bytes(frame)) == [number]
    # A frame with too many wrong bytes, and one that was cut off, each in front of a good one.
    damaged = bytearray(encode_coded(request(50, "z" * 300)))
    for place in range(4, 60):
        damaged[place] ^= 0x55
    good = encode_coded(request(51, "z" * 300))
    assert peer.exchange(bytes(damaged) + good) == [51]
    assert peer.exchange(good[:200] + encode_coded(request(52, "z" * 300)) + encode_coded(request(53))) == [
        52,
        53,
    ]
    assert peer.exchange(
        LONG[0] + b"\n" * 40 + b"".join(encode_coded(request(60 + k)) for k in range(8))
    ) == [60 + k for k in range(8)]
    fields = peer.statistics()
    assert fields["repaired"] == wrong and fields["damaged"] == 3 and fields["lost"] == 0


@needs_images
def test_plain_and_coded_frames_follow_each_other() -> None:
    peer = Peer()
    for number in range(1, 20):
        encode = encode_coded if number % 3 else encode_plain
        assert peer.exchange(b"text\n" + encode(request(number, "a" * (37 * number % 300)))) == [number]


@needs_images
@pytest.mark.parametrize("byte", [b"\x06", b"\x04"])
def test_a_frame_with_a_broken_delimiter_inside_counts_as_damaged(byte: bytes) -> None:
    peer = Peer()
    frame = encode_plain(request(1, "abc"))
    assert peer.exchange(frame[:10] + byte + frame[11:]) == []
    assert peer.statistics()["damaged"] == 1
    assert peer.exchange(frame[:-2] + byte + frame[-1:]) == []
    assert peer.statistics()["damaged"] == 2
    assert peer.exchange(frame) == [1]


@needs_images
def test_hostile_bytes_never_stop_the_device() -> None:
    """Noise, starts of frames, and frames that are cut and mixed: a good frame is answered afterwards."""
    draw = random.Random(5)
    peer = Peer()
    for number in range(1, 120):
        noise = bytearray()
        for _ in range(draw.randrange(6)):
            frame = encode_coded(request(200, "x" * draw.choice((0, 300))))
            pieces = (
                draw.randbytes(draw.randrange(80)),
                frame[: draw.randrange(len(frame))],
                LONG[0],
                SHORT[0],
            )
            noise += draw.choice(pieces)
        peer.exchange(bytes(noise))
        # Newlines are the rest of a long frame, if one was begun.
        assert number in peer.exchange(b"\n" * MAX_FRAME_BYTES + encode_coded(request(number)))
    assert peer.statistics()["damaged"] > 50
