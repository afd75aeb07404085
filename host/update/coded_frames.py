"""Frames in a Reed-Solomon code for lines that damage bytes (firmware/update/coded_frames.h)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from arenite.errors import UsageError
from arenite.host.update.keys import INSTALL
from arenite.host.update.plain_frames import add_length_and_crc, remove_length_and_crc

if TYPE_CHECKING:
    from reedsolo import RSCodec

PARITY_BYTES = 16
SYNC_BYTES = 4
#: Kinds of frames: the synchronization word, the number of blocks, and the bytes of a block.
SHORT = (bytes.fromhex("9CE5F2C7"), 1, 64)
LONG = (bytes.fromhex("D391A6E4"), 2, 255)
#: Bytes of the longest frame, and of the longest message in it.
MAX_FRAME_BYTES = SYNC_BYTES + 2 * 255
MAX_MESSAGE_BYTES = 2 * (255 - PARITY_BYTES) - 4


@cache
def _codec() -> RSCodec:
    try:
        import reedsolo
    except ImportError as error:
        raise UsageError("Coded frames need the package reedsolo.", INSTALL) from error
    return reedsolo.RSCodec(PARITY_BYTES, nsize=255)


def encode_coded(message: bytes) -> bytes:
    """Return the frame of ``message``, which has up to ``MAX_MESSAGE_BYTES`` bytes."""
    data = add_length_and_crc(message)
    sync, blocks, size = SHORT if len(data) <= SHORT[2] - PARITY_BYTES else LONG
    data = data.ljust(blocks * (size - PARITY_BYTES), b"\0")
    frame = bytearray(blocks * size)
    for block in range(blocks):
        frame[block::blocks] = _codec().encode(data[block::blocks])
    return sync + bytes(frame)


def _is_near(received: bytes, sync: bytes) -> bool:
    return len(received) == SYNC_BYTES and sum(a != b for a, b in zip(received, sync, strict=True)) < 2


class CodedDecoder:
    """Finds frames among other bytes. ``damaged`` counts those that could not be repaired, ``repaired`` the wrong bytes
    of the others."""

    def __init__(self) -> None:
        self.damaged = self.repaired = 0
        self._received = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Return the messages of the frames that end in ``data``."""
        self._received += data
        return self._find_messages()

    def end_silence(self) -> list[bytes]:
        """Give up a frame whose bytes did not come. Return the messages of frames behind its start."""
        if self._find_frame() is not None:
            self.damaged += 1
            del self._received[:1]
        return self._find_messages()

    def _find_messages(self) -> list[bytes]:
        messages = []
        while (kind := self._find_frame()) is not None:
            _, blocks, size = kind
            end = SYNC_BYTES + blocks * size
            if len(self._received) < end:
                break
            message = self._repair(bytes(self._received[SYNC_BYTES:end]), blocks)
            if message is None:
                self.damaged += 1
                end = 1  # another frame may begin behind this byte
            else:
                messages.append(message)
            del self._received[:end]
        return messages

    def _find_frame(self) -> tuple[bytes, int, int] | None:
        """Drop what is in front of the next frame, and return its kind."""
        for at in range(len(self._received) - SYNC_BYTES + 1):
            word = bytes(self._received[at : at + SYNC_BYTES])
            for kind in (LONG, SHORT):
                if _is_near(word, kind[0]):
                    del self._received[:at]
                    return kind
        del self._received[: max(0, len(self._received) - SYNC_BYTES + 1)]
        return None

    def _repair(self, frame: bytes, blocks: int) -> bytes | None:
        from reedsolo import ReedSolomonError

        data = bytearray(len(frame) - blocks * PARITY_BYTES)
        wrong = 0
        for block in range(blocks):
            try:
                repaired, _, places = _codec().decode(frame[block::blocks])
            except ReedSolomonError:
                return None
            data[block::blocks] = repaired
            wrong += len(places)
        message = remove_length_and_crc(bytes(data))
        self.repaired += wrong if message is not None else 0
        return message
