"""A simulated UF2 bootloader: a drive with INFO_UF2.TXT that accepts blocks of its family and then disappears.

The reader follows the specification of UF2 and shares no code with the writer under test.
"""

from __future__ import annotations

import contextlib
import shutil
import struct
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self


def read_uf2(data: bytes) -> list[tuple[int, bytes, int, int, int]]:
    """Return address, contents, number, count and family of each block. Raise ``ValueError`` for an invalid file."""
    if len(data) % 512:
        raise ValueError(f"{len(data)} bytes are no multiple of a block")
    blocks = []
    for offset in range(0, len(data), 512):
        block = data[offset : offset + 512]
        first, second, flags, address, size, number, count, family = struct.unpack("<8I", block[:32])
        (last,) = struct.unpack("<I", block[508:])
        if (first, second, last) != (0x0A324655, 0x9E5D5157, 0x0AB16F30):
            raise ValueError(f"block {offset // 512} lacks its magic numbers")
        if not flags & 0x2000 or size > 476 or address % 4 or size % 4 or number >= count:
            raise ValueError(f"block {number} is malformed")
        blocks.append((address, block[32 : 32 + size], number, count, family))
    return blocks


class Bootloader:
    """A simulated UF2 bootloader. ``root`` contains the drive and ``proc/mounts``. ``memory`` maps addresses to the
    pages that were written."""

    def __init__(
        self,
        root: Path,
        family: int,
        board_id: str,
        *,
        label: str = "BOOT",
        model: str = "A board",
    ) -> None:
        self.drive = root / "media" / "me" / label
        self.drive.mkdir(parents=True)
        (root / "proc").mkdir(exist_ok=True)
        with (root / "proc/mounts").open("a") as mounts:
            escaped = f"/media/me/{label}".replace(" ", r"\040")
            mounts.write(f"proc /proc proc rw 0 0\n/dev/sdb1 {escaped} vfat rw,nosuid 0 0\n")
        info = f"UF2 Bootloader v3.0\r\nModel: {model}\r\nBoard-ID: {board_id}\r\n"
        (self.drive / "INFO_UF2.TXT").write_bytes(info.encode("ascii"))
        self.family, self.memory = family, dict[int, bytes]()
        self.error: ValueError | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        """Read the files on the drive until a program is complete. Then remove the drive."""
        while not self._stop.is_set():
            for path in self.drive.glob("*.UF2"):
                if self._take(path):
                    shutil.rmtree(self.drive)
                    return
            time.sleep(0.01)

    def _take(self, path: Path) -> bool:
        """Store those blocks of the file that have the bootloader's family. Return whether all blocks have arrived."""
        with contextlib.suppress(FileNotFoundError):
            data = path.read_bytes()
            try:
                blocks = [b for b in read_uf2(data[: len(data) // 512 * 512]) if b[4] == self.family]
            except ValueError as error:
                self.error = error
                return False
            self.memory |= {address: contents for address, contents, *_ in blocks}
            return bool(blocks) and {number for _, _, number, _, _ in blocks} == set(range(blocks[0][3]))
        return False
