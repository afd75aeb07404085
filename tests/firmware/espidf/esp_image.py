"""Link applications for ESP32 chips like ESP-IDF, and read application images.

The addresses are those of ESP-IDF's components/esp_system/ld/<chip>/memory.ld.in. The 0x20 bytes before mapped flash
are for the headers of the image and the segment, so that pages of flash are mapped to whole pages of memory.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

from arenite.firmware.boards.cores import nearest_core
from arenite.firmware.sources import BOARDS
from arenite.profiles.boards import Board
from tests.firmware.cross_compiler import BARE, DECLARED, Recipe, compilers, run

PAGE = 0x10000


@dataclass(frozen=True)
class Chip:
    """The number of a chip in the header of an image, and the (origin, size in bytes) of its memories.

    They are mapped code (``irom``), mapped constants (``drom``), RAM for instructions, RAM for data, PSRAM and RTC
    memory.
    """

    number: int
    irom: tuple[int, int]
    drom: tuple[int, int]
    iram: tuple[int, int]
    dram: tuple[int, int]
    psram: tuple[int, int] = (0, 0)
    rtc: tuple[int, int] = (0x50000000, 0x2000)


#: Maps ESP-IDF's name of a chip to its memories.
CHIPS = {
    "esp32": Chip(
        0,
        (0x400D0020, 0x330000 - 0x20),
        (0x3F400020, 0x400000 - 0x20),
        (0x40080000, 0x20000),
        (0x3FFB0000, 0x2C200),
        (0x3F800000, 0x400000),
    ),
    "esp32s2": Chip(
        2,
        (0x40080020, 0x780000 - 0x20),
        (0x3F000020, 0x3F0000 - 0x20),
        (0x40024000, 0x2A000),
        (0x3FFB4000, 0x2A000),
    ),
    "esp32c3": Chip(
        5,
        (0x42000020, 0x800000 - 0x20),
        (0x3C000020, 0x800000 - 0x20),
        (0x40380000, 0x4E710),
        (0x3FC80000, 0x4E710),
    ),
    "esp32s3": Chip(
        9,
        (0x42000020, 0x800000 - 0x20),
        (0x3C000020, 0x1000000 - 0x20),
        (0x40374000, 0x57700),
        (0x3FC88000, 0x53700),
        (0x3D000000, 0x1000000),
    ),
    # On these chips, code and constants share one window of flash, and instructions and data one RAM. Here each is
    # divided into two parts.
    "esp32c6": Chip(
        13,
        (0x42400020, 0x400000 - 0x20),
        (0x42000020, 0x400000 - 0x20),
        (0x40800000, 0x8000),
        (0x40808000, 0x66000),
    ),
    "esp32p4": Chip(
        18,
        (0x40400020, 0x400000 - 0x20),
        (0x40000020, 0x400000 - 0x20),
        (0x4FF00000, 0x8000),
        (0x4FF08000, 0x23000),
        (0x48000000, 0x2000000),
        (0x50108000, 0x7000),
    ),
}

_SCRIPT = """\
MEMORY
{{
    irom (rx) : ORIGIN = {c.irom[0]:#x}, LENGTH = {c.irom[1]:#x}
    drom (r) : ORIGIN = {c.drom[0]:#x}, LENGTH = {c.drom[1]:#x}
    iram (rx) : ORIGIN = {c.iram[0]:#x}, LENGTH = {c.iram[1]:#x}
    dram (rw) : ORIGIN = {c.dram[0]:#x}, LENGTH = {c.dram[1]:#x}
    psram (rw) : ORIGIN = {c.psram[0]:#x}, LENGTH = {c.psram[1]:#x}
    rtc (rw) : ORIGIN = {c.rtc[0]:#x}, LENGTH = {c.rtc[1]:#x}
}}
ENTRY(call_start_cpu0)
SECTIONS
{{
    .iram0.text : {{ *(.iram1 .iram1.*) . = ALIGN(4); }} > iram
    .dram0.data : {{ *(.data .data.* .sdata .sdata.*) . = ALIGN(4); }} > dram
    .dram0.bss (NOLOAD) : {{ *(.bss .bss.* .sbss .sbss.* COMMON) . = ALIGN(4); }} > dram
    .ext_ram.bss (NOLOAD) : {{ *(.ext_ram.bss .ext_ram.bss.*) . = ALIGN(4); }} > psram
    .rtc_noinit (NOLOAD) : {{ *(.rtc_noinit .rtc_noinit.*) . = ALIGN(4); }} > rtc
    .flash.rodata : {{ *(.rodata .rodata.* .srodata .srodata.*) . = ALIGN(4); }} > drom
    .flash.text : {{ *(.literal .literal.* .text .text.*) . = ALIGN(4); }} > irom
    /DISCARD/ : {{ *(.comment .xtensa.info .eh_frame .riscv.attributes) }}
}}
"""


def link(project: Path, board: Board, recipe: Recipe, out: Path) -> Path:
    """Link the project with a stand-in for ESP-IDF's libraries in the folder ``out``, and return the ELF's path."""
    assert board.espressif is not None
    core = nearest_core(board.core)
    compiler, _ = compilers(board)
    out.mkdir()
    # ESP-IDF uses this option too: calls must reach from instruction RAM to mapped flash.
    long_calls = ["-mlongcalls"] if "xtensa" in core.name else []
    flags = [
        *core.architecture,
        *long_calls,
        *BARE,
        *recipe.flags,
        "-std=gnu17",
        "-O2",
        "-ffunction-sections",
        "-fdata-sections",
    ]
    helpers = [BOARDS.path(name) for name in core.helpers if name not in (core.start, "start_xtensa.c")]
    extra_sources = [DECLARED / "espidf/libraries.c", *helpers]
    extra_flags = ["-fno-tree-loop-distribute-patterns", *BOARDS.include_flags]
    run([compiler, *flags, "-c", *(str(project / name) for name in recipe.sources)], out)
    run([compiler, *flags, *extra_flags, "-c", *map(str, extra_sources)], out)
    script = out / "esp.ld"
    script.write_text(_SCRIPT.format(c=CHIPS[board.espressif.chip]))
    elf = out / "firmware.elf"
    objects = sorted(map(str, out.glob("*.o")))
    link_flags = [
        "-nostdlib",
        "-static",
        "-Wl,--gc-sections",
        "-Wl,--build-id=none",
        "-Wl,--no-warn-rwx-segments",
    ]
    run([compiler, *core.architecture, *link_flags, f"-T{script}", "-o", str(elf), *objects, "-lgcc"])
    return elf


def esptool(*arguments: str | Path) -> str:
    """Run esptool, check its exit status and return its output. It is run as a command, not imported, because of its
    license."""
    command = [sys.executable, "-m", "esptool", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@dataclass(frozen=True)
class Segment:
    """A segment of an image. ``file`` is the offset of its data in the image."""

    address: int
    data: bytes
    file: int


@dataclass(frozen=True)
class Image:
    """An application image, read by the format's description in esptool's documentation ("Firmware Image Format")."""

    flash_mode: int
    flash_size: int
    entry: int
    chip: int
    segments: list[Segment]

    @staticmethod
    def read(data: bytes) -> Image:
        """Read an image, and check its magic byte and checksum."""
        magic, count, mode, size_and_speed, entry = struct.unpack_from("<BBBBI", data)
        assert magic == 0xE9
        (chip,) = struct.unpack_from("<H", data, 12)
        at, segments, checksum = 24, [], 0xEF
        for _ in range(count):
            address, length = struct.unpack_from("<II", data, at)
            segments.append(Segment(address, data[at + 8 : at + 8 + length], at + 8))
            at += 8 + length
        for segment in segments:
            for byte in segment.data:
                checksum ^= byte
        assert data[(at // 16) * 16 + 15] == checksum
        return Image(mode, size_and_speed >> 4, entry, chip, segments)

    def within(self, region: tuple[int, int]) -> list[Segment]:
        """Return the segments whose first byte is in ``region``."""
        return [s for s in self.segments if region[0] <= s.address < region[0] + region[1]]


def constants(elf: Path, header: Path) -> dict[str, tuple[int, bytes]]:
    """Map the name of each constant array that ``header`` (weights.h) declares to its address and bytes."""
    declared = set(re.findall(r"^extern const \w+ (\w+)\[", header.read_text(), re.MULTILINE))
    arrays = {}
    with elf.open("rb") as stream:
        file = ELFFile(stream)
        for symbol in file.get_section_by_name(".symtab").iter_symbols():  # type: ignore[union-attr]
            if symbol.name in declared:
                section = file.get_section(symbol["st_shndx"])
                start = symbol["st_value"] - section["sh_addr"]
                arrays[symbol.name] = (symbol["st_value"], section.data()[start : start + symbol["st_size"]])
    return arrays


def address_of(elf: Path, name: str) -> int:
    """Return the address of a symbol."""
    with elf.open("rb") as stream:
        symbols = ELFFile(stream).get_section_by_name(".symtab")
        return int(symbols.get_symbol_by_name(name)[0]["st_value"])  # type: ignore[union-attr]
