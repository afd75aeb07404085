"""List the files to write to an ESP chip's flash, with their addresses: bootloader, partition table and application.

The application's address is in the partition table.

Sources: ESP-IDF, "Partition Tables" (32-byte entries, magic 0x50AA) and "OTA" (two sectors of otadata, each
with a sequence number and its CRC); esptool's chip classes for the bootloader's offset.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.profiles.boards import Board

CHIPS = ("esp32c2", "esp32c3", "esp32c5", "esp32c6", "esp32c61", "esp32h2", "esp32p4", "esp32s2", "esp32s3")
BOOTLOADER_ADDRESS = {"esp32": 0x1000, "esp32s2": 0x1000, "esp32p4": 0x2000, "esp32c5": 0x2000}
TABLE_ADDRESS = 0x8000
APPLICATION_ADDRESS = 0x10000
IMAGE_MAGIC = 0xE9
_ENTRY = struct.Struct("<HBBII16sI")
_MAGIC = 0x50AA
_APP, _DATA, _OTADATA = 0, 1, 0
_FACTORY, _OTA_0 = 0x00, 0x10


@dataclass(frozen=True)
class FlashPart:
    """A file and the flash address that it is written to."""

    address: int
    path: Path


def chip_of(board: Board) -> str:
    """Return the chip's name for esptool's --chip. Raises UsageError for a chip that is not from Espressif."""
    if board.espressif is not None:
        return board.espressif.chip
    name = board.mcu.lower().replace("-", "")
    if name.startswith("esp8266"):
        return "esp8266"
    chips = [chip for chip in CHIPS if name.startswith(chip)]
    if chips:
        return max(chips, key=len)
    if name.startswith("esp32"):
        return "esp32"
    raise UsageError(
        f"esptool supports only chips from Espressif; {board.name} has a {board.mcu}.",
        "Choose another --tool.",
    )


def partitions(table: bytes) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the entries of a partition table: a mapping from (type, subtype) to (offset, size) in bytes."""
    entries: dict[tuple[int, int], tuple[int, int]] = {}
    for entry_offset in range(0, len(table) - _ENTRY.size + 1, _ENTRY.size):
        magic, kind, subtype, offset, size, _, _ = _ENTRY.unpack_from(table, entry_offset)
        if magic != _MAGIC:
            break
        entries.setdefault((kind, subtype), (offset, size))
    return entries


def otadata_for_first_slot() -> bytes:
    """Return the contents of the otadata partition that select the first application slot. Its first sector has
    sequence number 1, its second sector is erased."""
    number = struct.pack("<I", 1)
    # The 24 bytes between number and CRC are a label and a state, which are not used.
    entry = number + b"\xff" * 24 + struct.pack("<I", zlib.crc32(number, 0xFFFFFFFF))
    return entry.ljust(0x2000, b"\xff")


def flash_parts(board: Board, image: Path) -> list[FlashPart]:
    """Return the files to write: the application at ``image``, and files that PlatformIO or ESP-IDF left beside it.

    Raises:
        UsageError: ``image`` is missing or not an ESP image, or the table beside it has no partition for it.
    """
    chip = chip_of(board)
    try:
        content = image.read_bytes()
    except FileNotFoundError as error:
        raise UsageError(
            f"{image} does not exist, and an ESP chip does not run a bare ELF.",
            "Build it with `arenite build`.",
        ) from error
    if content[:1] != bytes([IMAGE_MAGIC]):
        raise UsageError(f"{image} is not an image for an ESP chip.", "Build it again with `arenite build`.")
    if chip == "esp8266":
        return [FlashPart(0, image)]
    boot, table = image.with_name("bootloader.bin"), image.with_name("partitions.bin")
    parts: list[FlashPart] = []
    if boot.is_file():
        parts.append(FlashPart(BOOTLOADER_ADDRESS.get(chip, 0), boot))
    address = APPLICATION_ADDRESS
    if table.is_file():
        parts.append(FlashPart(TABLE_ADDRESS, table))
        entries = partitions(table.read_bytes())
        slot = entries.get((_APP, _FACTORY)) or entries.get((_APP, _OTA_0))
        if slot is None:
            raise UsageError(f"{table} has no partition for an application.", "Build it again.")
        address, size = slot
        if len(content) > size:
            raise UsageError(
                f"The application has {len(content):,} bytes; its partition holds {size:,}.",
                "Try --optimise flash.",
            )
        if (_APP, _FACTORY) not in entries and (ota := entries.get((_DATA, _OTADATA))) is not None:
            # An earlier update over the air may have selected the second application slot.
            data = image.with_name("otadata.bin")
            write_atomic(data, otadata_for_first_slot())
            parts.append(FlashPart(ota[0], data))
    return [*parts, FlashPart(address, image)]
