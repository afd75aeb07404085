"""Applications for ESP32 chips as ESP-IDF links them: where each kind of section lies, and what an image holds.

The addresses are those of ESP-IDF's components/esp_system/ld/<chip>/memory.ld.in; the 0x20 bytes before mapped flash
leave room for the headers of image and segment, so that a page of flash is a page of memory.
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
    """Origin and bytes of mapped code, mapped constants, the two RAMs, PSRAM and RTC memory; the chip's number in an
    image."""

    number: int
    irom: tuple[int, int]
    drom: tuple[int, int]
    iram: tuple[int, int]
    dram: tuple[int, int]
    psram: tuple[int, int] = (0, 0)
    rtc: tuple[int, int] = (0x50000000, 0x2000)


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
    # Code and constants share one window of flash on these, and instructions and data one memory: halved here.
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
    """An ELF of the project and of what stands for ESP-IDF's libraries; the path of it, in the folder ``out``."""
    assert board.espressif is not None
    core = nearest_core(board.core)
    compiler, _ = compilers(board)
    out.mkdir()
    # As ESP-IDF compiles: calls reach from instruction RAM to mapped flash.
    far = ["-mlongcalls"] if "xtensa" in core.name else []
    flags = [
        *core.architecture,
        *far,
        *BARE,
        *recipe.flags,
        "-std=gnu17",
        "-O2",
        "-ffunction-sections",
        "-fdata-sections",
    ]
    helpers = [BOARDS.path(name) for name in core.helpers if name not in (core.start, "start_xtensa.c")]
    own = [DECLARED / "espidf/libraries.c", *helpers]
    quiet = ["-fno-tree-loop-distribute-patterns", *BOARDS.include_flags]
    run([compiler, *flags, "-c", *(str(project / name) for name in recipe.sources)], out)
    run([compiler, *flags, *quiet, "-c", *map(str, own)], out)
    script = out / "esp.ld"
    script.write_text(_SCRIPT.format(c=CHIPS[board.espressif.chip]))
    elf = out / "firmware.elf"
    objects = sorted(map(str, out.glob("*.o")))
    shrink = [
        "-nostdlib",
        "-static",
        "-Wl,--gc-sections",
        "-Wl,--build-id=none",
        "-Wl,--no-warn-rwx-segments",
    ]
    run([compiler, *core.architecture, *shrink, f"-T{script}", "-o", str(elf), *objects, "-lgcc"])
    return elf


def esptool(*arguments: str | Path) -> str:
    """Run as a command, which its licence leaves free; the exit status is checked."""
    command = [sys.executable, "-m", "esptool", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True)
class Segment:
    """``file``: offset of the data in the image."""

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
        """Checks the magic byte and the checksum on the way."""
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
        """Segments whose first byte lies in ``region``."""
        return [s for s in self.segments if region[0] <= s.address < region[0] + region[1]]


def constants(elf: Path, header: Path) -> dict[str, tuple[int, bytes]]:
    """Name to address and bytes of the model's constant arrays: those that ``header`` (weights.h) declares."""
    declared = set(re.findall(r"^extern const \w+ (\w+)\[", header.read_text(), re.MULTILINE))
    found = {}
    with elf.open("rb") as stream:
        file = ELFFile(stream)
        for symbol in file.get_section_by_name(".symtab").iter_symbols():  # type: ignore[union-attr]
            if symbol.name in declared:
                section = file.get_section(symbol["st_shndx"])
                start = symbol["st_value"] - section["sh_addr"]
                found[symbol.name] = (symbol["st_value"], section.data()[start : start + symbol["st_size"]])
    return found


def address_of(elf: Path, name: str) -> int:
    """The address of a symbol."""
    with elf.open("rb") as stream:
        symbols = ELFFile(stream).get_section_by_name(".symtab")
        return int(symbols.get_symbol_by_name(name)[0]["st_value"])  # type: ignore[union-attr]
