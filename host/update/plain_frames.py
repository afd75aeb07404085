"""The frames in which messages of the Simple Management Protocol travel over a serial port: base64 in lines
(firmware/update/smp_serial.h)."""

from __future__ import annotations

import base64
import binascii

_FIRST, _NEXT = b"\x06\x09", b"\x04\x14"
_LINE_CHARACTERS = 124
_MAX_LINE_BYTES = 4096


def add_length_and_crc(message: bytes) -> bytes:
    """Return ``message`` with its length in front and its CRC-16/XMODEM behind it."""
    crc = binascii.crc_hqx(message, 0).to_bytes(2, "big")
    return (len(message) + 2).to_bytes(2, "big") + message + crc


def remove_length_and_crc(data: bytes) -> bytes | None:
    """Return the message in ``data``, which may have more bytes behind it, or None if it is damaged."""
    end = 2 + int.from_bytes(data[:2], "big")
    if not 4 <= end <= len(data) or binascii.crc_hqx(data[2:end], 0) != 0:
        return None
    return data[2 : end - 2]


def encode_plain(message: bytes) -> bytes:
    """Return the frame of ``message``."""
    text = base64.b64encode(add_length_and_crc(message))
    lines = [text[at : at + _LINE_CHARACTERS] for at in range(0, len(text), _LINE_CHARACTERS)]
    return b"".join((_NEXT if number else _FIRST) + line + b"\n" for number, line in enumerate(lines))


class PlainDecoder:
    """Finds frames among lines of text. ``damaged`` counts frames that were damaged."""

    def __init__(self) -> None:
        self.damaged = 0
        self._line = bytearray()
        self._frame: bytearray | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """Return the messages that end in ``data``."""
        messages = []
        for byte in data:
            if byte != 0x0A:
                self._line.append(byte)
                del self._line[:-_MAX_LINE_BYTES]
                continue
            line, self._line = bytes(self._line), bytearray()
            message = self._take_line(line)
            if message is not None:
                messages.append(message)
        return messages

    def _take_line(self, line: bytes) -> bytes | None:
        """Return the message that ends with ``line``, if one does."""
        start = line.rfind(_FIRST)
        if start >= 0:
            self.damaged += self._frame is not None
            self._frame = bytearray()
        elif self._frame is not None:
            start = line.rfind(_NEXT)
        if self._frame is None:
            return None
        if start < 0:
            return None  # a line of text between those of a frame
        try:
            self._frame += base64.b64decode(line[start + 2 :].rstrip(b"\r"), validate=True)
        except binascii.Error:
            self._drop()
            return None
        if len(self._frame) < 2 or len(self._frame) < 2 + int.from_bytes(self._frame[:2], "big"):
            return None
        message = remove_length_and_crc(bytes(self._frame))
        if message is None:
            self._drop()
            return None
        self._frame = None
        return message

    def _drop(self) -> None:
        self._frame = None
        self.damaged += 1
