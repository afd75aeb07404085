"""Erase and write the flash memory of a target through a GDB server.

Source: "Debugging with GDB", appendix "GDB Remote Serial Protocol", packets qXfer:memory-map:read,
vFlashErase, vFlashWrite and vFlashDone, and section "Memory Map Format".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from arenite.host.flash.elf_image import Segment
from arenite.host.flash.gdb_remote import HEADER_BYTES, GdbRemote, escaped, unescaped


@dataclass(frozen=True)
class FlashRegion:
    """A range of flash addresses, from ``start`` to ``start + size - 1``. It is erased in blocks of ``block`` bytes."""

    start: int
    size: int
    block: int

    def holds(self, segment: Segment) -> bool:
        return self.start <= segment.address and segment.end <= self.start + self.size

    def blocks_of(self, segments: Sequence[Segment]) -> list[tuple[int, int]]:
        """Return (address, size) of each block that must be erased for ``segments``. No block occurs twice."""
        numbers = {
            number
            for segment in segments
            for number in range(
                (segment.address - self.start) // self.block, -(-(segment.end - self.start) // self.block)
            )
        }
        return [(self.start + number * self.block, self.block) for number in sorted(numbers)]


def flash_regions(remote: GdbRemote) -> list[FlashRegion]:
    """Return the flash regions of the target. The list is empty if the server has no memory map, like an emulator.

    Raises DeviceError if the memory map cannot be read.
    """
    if "qXfer:memory-map:read+" not in remote.features:
        return []
    text, has_more = b"", True
    while has_more:
        size = remote.packet_size - HEADER_BYTES
        reply = remote.request(b"qXfer:memory-map:read::%x,%x" % (len(text), size))
        if reply[:1] not in (b"l", b"m") or (reply == b"m"):
            remote.require_ok(reply, "reading the memory map")
        text += unescaped(reply[1:])
        has_more = reply[:1] == b"m"
    regions = []
    try:
        for memory in ElementTree.fromstring(text).iter("memory"):
            if memory.get("type") != "flash":
                continue
            block = next((p.text for p in memory.iter("property") if p.get("name") == "blocksize"), None)
            start, size = (int(memory.get(key, "0"), 0) for key in ("start", "length"))
            regions.append(FlashRegion(start, size, int(block or "0", 0) or size))
    except (ElementTree.ParseError, ValueError):
        remote.require_ok(b"its answer is not XML", "reading the memory map")
    return regions


def write_flash(remote: GdbRemote, region: FlashRegion, segments: Sequence[Segment]) -> None:
    """Erase the blocks of ``region`` that ``segments`` overlap, and write the segments. Raises DeviceError if the
    server refuses a request."""
    for address, size in region.blocks_of(segments):
        remote.require_ok(remote.request(b"vFlashErase:%x,%x" % (address, size)), f"erasing {address:#x}")
    for segment in segments:
        offset = 0
        while offset < len(segment.data):
            written, body = escaped(segment.data[offset:], remote.packet_size - HEADER_BYTES)
            address = segment.address + offset
            reply = remote.request(b"vFlashWrite:%x:" % address + body)
            remote.require_ok(reply, f"writing {written} bytes of flash at {address:#x}")
            offset += written
    remote.require_ok(remote.request(b"vFlashDone"), "ending the write of the flash")
