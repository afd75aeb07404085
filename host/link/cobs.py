"""Consistent Overhead Byte Stuffing: encodes a packet of any bytes as one without zero bytes.

Each run of non-zero bytes is preceded by its length plus one; a zero then only ever ends a packet (Cheshire
and Baker, "Consistent Overhead Byte Stuffing", IEEE/ACM Transactions on Networking 7(2), 1999).
"""

from __future__ import annotations


def encode(data: bytes) -> bytes:
    """``data`` without zero bytes, at most ``len(data) + len(data) // 254 + 1`` long; no delimiter is added."""
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
    """The packet that ``encode`` turned into ``data`` (no delimiter in it).

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
