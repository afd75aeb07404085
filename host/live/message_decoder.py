"""Split what an application sends into messages: frames, and lines of text before and after them."""

from __future__ import annotations

import time
from collections.abc import Iterator

from arenite.host.link.frames import DamagedFrame, decode_packet
from arenite.host.live.messages import Message, MissingFrames, Text, parse_message

#: A longer text without an end is not a line.
_MAX_TEXT = 4096


class MessageDecoder:
    """Decodes bytes, which may arrive in pieces of any length.

    A frame lies between zero bytes, and text has none. ``damaged`` counts the pieces between zero bytes that are
    neither frames nor text, and ``frames`` the frames. ``last_frame_s`` is the time of the latest one on the clock
    ``time.monotonic``.
    """

    def __init__(self) -> None:
        self._pending = bytearray()
        self._number: int | None = None
        self.damaged = 0
        self.frames = 0
        self.last_frame_s = 0.0

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yield the messages that ``data`` completes."""
        self._pending += data
        *pieces, rest = bytes(self._pending).split(b"\0")
        for piece in pieces:
            if piece:
                yield from self._piece(piece)
        # Lines of text are complete before the next frame begins.
        if b"\n" in rest and _is_text(rest):
            lines, _, rest = rest.rpartition(b"\n")
            yield from _lines(lines)
        self._pending = bytearray(rest if len(rest) <= _MAX_TEXT else b"")

    def _piece(self, piece: bytes) -> Iterator[Message]:
        payload = decode_packet(piece)
        if isinstance(payload, DamagedFrame):
            if _is_text(piece):
                yield from _lines(piece)
            else:
                self.damaged += 1
            return
        self.frames += 1
        self.last_frame_s = time.monotonic()
        number = int.from_bytes(payload[2:4], "little")
        if self._number is not None and (missing := (number - self._number - 1) & 0xFFFF):
            yield MissingFrames(missing)
        self._number = number
        message = parse_message(payload)
        if message is not None:
            yield message


def _is_text(data: bytes) -> bool:
    """Return whether ``data`` may be lines of text: a frame has control characters, such as the lengths of its runs."""
    return all(byte >= 32 or byte in b"\r\n\t" for byte in data)


def _lines(data: bytes) -> Iterator[Text]:
    for line in data.splitlines():
        if line.strip():
            yield Text(line.decode("utf-8", "replace"))
