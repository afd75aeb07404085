"""Flash memory behind a GDB server: its address ranges, and erasing and writing them.

Source: "Debugging with GDB", appendix "GDB Remote Serial Protocol", packets qXfer:memory-map:read,
vFlashErase, vFlashWrite and vFlashDone, and section "Memory Map Format".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from arenite.host.flash.elf_image import Segment
from arenite.host.flash.gdb_remote import GdbRemote, escaped, unescaped


@dataclass(frozen=True)
class FlashRegion:
    """``start`` ≤ address < ``start + size``; erased in blocks of ``block`` bytes, counted from ``start``."""

    start: int
    size: int
    block: int

    def holds(self, segment: Segment) -> bool:
        return self.start <= segment.address and segment.end <= self.start + self.size

    def blocks_of(self, segments: Sequence[Segment]) -> list[tuple[int, int]]:
        """Address and size of the blocks to erase for ``segments``, each block once."""
        numbers = {
            number
            for segment in segments
            for number in range(
                (segment.address - self.start) // self.block, -(-(segment.end - self.start) // self.block)
            )
        }
        return [(self.start + number * self.block, self.block) for number in sorted(numbers)]


def flash_regions(remote: GdbRemote) -> list[FlashRegion]:
    """The server's flash regions; empty when it has no memory map, as with an emulator.

    Raises DeviceError for a map that cannot be read.
    """
    if "qXfer:memory-map:read+" not in remote.features:
        return []
    text, unfinished = b"", True
    while unfinished:
        size = remote.packet_size - 40
        reply = remote.request(b"qXfer:memory-map:read::%x,%x" % (len(text), size))
        if reply[:1] not in (b"l", b"m") or (reply == b"m"):
            remote.require_ok(reply, "the memory map")
        text += unescaped(reply[1:])
        unfinished = reply[:1] == b"m"
    regions = []
    try:
        for memory in ElementTree.fromstring(text).iter("memory"):
            if memory.get("type") != "flash":
                continue
            block = next((p.text for p in memory.iter("property") if p.get("name") == "blocksize"), None)
            start, size = (int(memory.get(key, "0"), 0) for key in ("start", "length"))
            regions.append(FlashRegion(start, size, int(block or "0", 0) or size))
    except (ElementTree.ParseError, ValueError):
        remote.require_ok(b"a map that is no XML", "the memory map")
    return regions


def write_flash(remote: GdbRemote, region: FlashRegion, segments: Sequence[Segment]) -> None:
    """Erase the blocks of ``region`` that ``segments`` touch and write them. Raises DeviceError when the
    server refuses."""
    for address, size in region.blocks_of(segments):
        remote.require_ok(remote.request(b"vFlashErase:%x,%x" % (address, size)), f"erasing {address:#x}")
    for segment in segments:
        at = 0
        while at < len(segment.data):
            taken, body = escaped(segment.data[at:], remote.packet_size - 40)
            address = segment.address + at
            reply = remote.request(b"vFlashWrite:%x:" % address + body)
            remote.require_ok(reply, f"{taken} bytes of flash at {address:#x}")
            at += taken
    remote.require_ok(remote.request(b"vFlashDone"), "the end of programming")
