"""Write small ELF files without a compiler, for tests of the uploaders."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path


def make_elf(segments: Iterable[tuple[int, bytes]], entry: int = 0) -> bytes:
    """Return a 32-bit little-endian Arm executable with one loadable segment per (load address, contents)."""
    parts = list(segments)
    header, entry_size = 52, 32  # bytes of the ELF header and of an entry of the program header table
    offset = header + entry_size * len(parts)
    table, body = b"", b""
    for address, data in parts:
        table += struct.pack("<8I", 1, offset + len(body), address, address, len(data), len(data) + 16, 5, 4)
        body += data
    ident = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9)
    head = struct.pack(
        "<HHIIIIIHHHHHH", 2, 40, 1, entry, header, 0, 0, header, entry_size, len(parts), 0, 0, 0
    )
    return ident + head + table + body


def write_elf(path: Path, segments: Iterable[tuple[int, bytes]], entry: int = 0) -> Path:
    """Write an executable of ``make_elf`` to ``path``, and create its folder. Return ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(make_elf(segments, entry))
    return path
