"""Write the UF2 format: a program in 512-byte blocks, which a mass-storage bootloader accepts in any order.

Source of the layout and the flags: the UF2 specification, https://github.com/microsoft/uf2.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from arenite.host.flash.elf_image import Segment

BLOCK_BYTES = 512
PAYLOAD_BYTES = 256  # a size that every bootloader accepts: a page of the RP2040, whole rows of the SAM chips
MAGIC = (0x0A324655, 0x9E5D5157, 0x0AB16F30)
FAMILY_PRESENT = 0x2000
_HEAD = struct.Struct("<8I")


def pages(segments: Iterable[Segment]) -> dict[int, bytes]:
    """Return the contents of each page that a segment overlaps, by the page's address. A page has PAYLOAD_BYTES bytes,
    and its address is a multiple of PAYLOAD_BYTES. Bytes outside segments are 0xff, the value of erased flash."""
    pages_by_address: dict[int, bytearray] = {}
    for segment in segments:
        address = segment.address
        while address < segment.end:
            page = address - address % PAYLOAD_BYTES
            stop = min(page + PAYLOAD_BYTES, segment.end)
            page_data = pages_by_address.setdefault(page, bytearray(b"\xff" * PAYLOAD_BYTES))
            page_data[address - page : stop - page] = segment.data[
                address - segment.address : stop - segment.address
            ]
            address = stop
    return {page: bytes(pages_by_address[page]) for page in sorted(pages_by_address)}


def make_uf2(segments: Iterable[Segment], family: int) -> bytes:
    """Return the contents of a UF2 file with ``segments``. Every block has the UF2 family ID ``family``, so chips of
    other families ignore the file."""
    contents = pages(segments)
    blocks = []
    for number, (address, data) in enumerate(contents.items()):
        head = _HEAD.pack(*MAGIC[:2], FAMILY_PRESENT, address, PAYLOAD_BYTES, number, len(contents), family)
        blocks.append((head + data).ljust(BLOCK_BYTES - 4, b"\0") + struct.pack("<I", MAGIC[2]))
    return b"".join(blocks)
