"""Small ELF files, made byte by byte: what the uploaders read must not depend on a compiler."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path


def make_elf(segments: Iterable[tuple[int, bytes]], entry: int = 0) -> bytes:
    """A 32-bit little-endian Arm executable with one loadable segment per (load address, contents)."""
    parts = list(segments)
    header, each = 52, 32
    at = header + each * len(parts)
    table, body = b"", b""
    for address, data in parts:
        table += struct.pack("<8I", 1, at + len(body), address, address, len(data), len(data) + 16, 5, 4)
        body += data
    ident = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9)
    head = struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, entry, header, 0, 0, header, each, len(parts), 0, 0, 0)
    return ident + head + table + body


def write_elf(path: Path, segments: Iterable[tuple[int, bytes]], entry: int = 0) -> Path:
    """The same as a file; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(make_elf(segments, entry))
    return path
