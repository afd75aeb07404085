"""Encode and decode the frames of the protocol: COBS packets with a CRC-32, between zero bytes.

``docs/protocol.md`` describes the layout. A receiver never loses more than the damaged frame, because the next zero
byte starts a new frame.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from arenite.host.link import cobs

CRC_BYTES = 4
HEADER_BYTES = 4
# A receiver that reads this many bytes without a delimiter is not reading frames.
MAX_ENCODED = 4096


def encode_frame(payload: bytes) -> bytes:
    """Return ``payload`` and its CRC as a COBS packet with a zero byte on both sides. The first zero byte separates the
    frame from noise before it."""
    return b"\0" + cobs.encode(payload + zlib.crc32(payload).to_bytes(CRC_BYTES, "little")) + b"\0"


@dataclass(frozen=True)
class DamagedFrame:
    """Bytes between two delimiters that are not a valid frame."""

    data: bytes


class FrameDecoder:
    """Splits a stream of bytes into frames. The bytes may arrive in pieces of any length."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes | DamagedFrame]:
        """Yield the payload of each frame that ``data`` completes, and a :class:`DamagedFrame` for each damaged one."""
        self._pending += data
        while True:
            end = self._pending.find(0)
            if end < 0:
                break
            packet = bytes(self._pending[:end])
            del self._pending[: end + 1]
            if packet:
                yield decode_packet(packet)
        if len(self._pending) > MAX_ENCODED:
            noise = bytes(self._pending)
            self._pending.clear()
            yield DamagedFrame(noise)


def decode_packet(packet: bytes) -> bytes | DamagedFrame:
    """Return the payload of one encoded frame (without delimiters), or a :class:`DamagedFrame`."""
    try:
        frame = cobs.decode(packet)
    except ValueError:
        return DamagedFrame(packet)
    payload, check = frame[:-CRC_BYTES], frame[-CRC_BYTES:]
    if len(payload) < HEADER_BYTES or zlib.crc32(payload) != int.from_bytes(check, "little"):
        return DamagedFrame(packet)
    return payload
