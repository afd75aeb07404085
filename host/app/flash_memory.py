"""The flash memory of an emulated board: read what an application saved there (state_store.h describes the slots)."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

from arenite.errors import UsageError
from arenite.firmware.app.learning_glue import PAGE_BYTES, UNIT_BYTES, Learning

#: The name of the file that flash_file.c reads and writes.
FLASH_FILE = "flash.bin"


def flash_contents(path: Path | None, learning: Learning) -> bytes:
    """Return the contents of the flash memory in the file ``path``; erased memory if there is no file.

    Raises ``UsageError`` if the file cannot be read, or is not as large as the memory.
    """
    size = learning.flash_pages * PAGE_BYTES
    if path is None or not path.exists():
        return b"\xff" * size
    try:
        data = path.read_bytes() if path.stat().st_size == size else None
    except OSError as error:
        raise UsageError(f"Cannot read the flash memory {path}: {error}.", "Give another file.") from error
    if data is None:
        raise UsageError(
            f"{path} has {path.stat().st_size:,} bytes, but the flash memory of this application has {size:,}.",
            "Give a file that a run of this application wrote, or a new name.",
        )
    return data


def newest_record(flash: bytes, learning: Learning, image_sha256: bytes) -> np.ndarray | None:
    """Return the newest record of this application in its flash memory, an element of ``learning.record_dtype``; None
    if there is none."""
    dtype = learning.record_dtype
    size = dtype.itemsize
    slot = -(-(size + 8) // UNIT_BYTES) * UNIT_BYTES
    block = -(-slot // PAGE_BYTES) * PAGE_BYTES
    start = zlib.crc32(struct.pack("<II", learning.plan.tag(image_sha256), size))
    newest: tuple[int, bytes] | None = None
    for first in range(0, len(flash), block):
        for at in range(first, first + block - slot + 1, slot):
            data = flash[at : at + slot]
            counter, crc = struct.unpack_from("<I", data)[0], struct.unpack_from("<I", data, slot - 4)[0]
            if zlib.crc32(data[:-4], start) == crc and (newest is None or counter > newest[0]):
                newest = counter, data[4 : 4 + size]
    return None if newest is None else np.frombuffer(newest[1], dtype)[0]
