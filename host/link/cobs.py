"""Consistent Overhead Byte Stuffing: encode any packet of bytes without zero bytes.

Each run of non-zero bytes is preceded by its length plus one, so a zero only occurs at the end of a packet (Cheshire
and Baker, "Consistent Overhead Byte Stuffing", IEEE/ACM Transactions on Networking 7(2), 1999).
"""

from __future__ import annotations


def encode(data: bytes) -> bytes:
    """Encode ``data`` without zero bytes. The result has at most ``len(data) + len(data) // 254 + 1`` bytes and no
    delimiter."""
    out = bytearray()
    runs = data.split(b"\0")
    for index, run in enumerate(runs):
        while len(run) >= 254:
            out += b"\xff" + run[:254]
            run = run[254:]
            if not run and index == len(runs) - 1:
                return bytes(out)
        out.append(len(run) + 1)
        out += run
    return bytes(out)


def decode(data: bytes) -> bytes:
    """Return the packet that ``encode`` turned into ``data``, which has no delimiter.

    Raises:
        ValueError: ``data`` is empty, has a zero byte, or ends within a run.
    """
    if not data or 0 in data:
        raise ValueError("no COBS packet")
    out = bytearray()
    at = 0
    while at < len(data):
        code = data[at]
        run = data[at + 1 : at + code]
        if len(run) != code - 1:
            raise ValueError("COBS packet ends within a run")
        out += run
        at += code
        if code != 255 and at < len(data):
            out.append(0)
    return bytes(out)
