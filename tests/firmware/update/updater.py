"""Measure a whole updater on a Cortex-M0 and a Cortex-M4: bytes of flash and RAM, and instructions of a check.

It is the check of an image, the choice of images with the swap, the state store, a flash driver and the server of the
Simple Management Protocol. They are measured in one program, and as two: a boot loader, and an application that can
change the state too. The sizes are those of the program less those of a program with nothing but the scaffold: a start,
a memory and actions that do nothing. What a device needs for its own port, slots and actions comes on top.

QEMU runs the boot loader's part, which checks a signed image, and a request of a client. The stack was painted before
each part; the figure is that of the deepest byte that changed. SysTick counts the instructions: it advances by a fixed
time with each of them.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from arenite.firmware.sources import UPDATE
from arenite.firmware.update.algorithms import CHECKS
from tests.firmware.state_store.power_cuts import Device
from tests.firmware.update.image_check import ABI, BOARD, MODEL, library_or_skip, public_key, signed
from tests.firmware.update.smp_device import sources as smp_sources

#: Cores, and the machines of QEMU that have them: the start of flash and RAM is the same.
MACHINES = {"cortex-m0": "microbit", "cortex-m4": "mps2-an386"}
#: gcc makes less code of the arithmetic and of the hashes with it, and uses less stack.
SIZE_FLAGS = ("-fno-tree-coalesce-vars",)
_FLAGS = (
    "-Os",
    "-std=c99",
    "-ffreestanding",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fno-tree-loop-distribute-patterns",
)
_SECTIONS = ("-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", "-nostdlib")
_BOOT = ("boot_choose.c", "boot_state.c", "swap.c", "state_store.c", "flash_nrf.c")
_STACK_BYTES = 4096
_LOOPS = 1_000_000
SCRIPT = """
ENTRY(reset)
SECTIONS
{
    .text 0 : { KEEP(*(.vectors)) *(.text .text.* .rodata .rodata.*) KEEP(*(.files)) }
    .bss 0x20000000 (NOLOAD) : { *(.bss .bss.* COMMON) . = ALIGN(8); stack_bottom = .; . = . + STACK; stack_top = .; }
    /DISCARD/ : { *(.comment) *(.ARM.*) }
}
"""


#: The programs, and the parts that they contain.
PROGRAMS = {"one program": 3, "boot loader": 1, "application": 2}


@dataclass(frozen=True)
class Updater:
    """The needs of a program with parts of an updater on a core."""

    flash_bytes: int
    static_bytes: int  # RAM with an address
    stack_bytes: int
    check_instructions: int  # of an image with 300 bytes of payload; 0 without a check
    results: tuple[int, int]  # of ar_boot_choose and of the application's part

    @property
    def ram_bytes(self) -> int:
        return self.static_bytes + self.stack_bytes


def state_request() -> bytes:
    """Return a frame of the Simple Management Protocol that asks for the list of images."""
    data = struct.pack(">BBHHBB", 0, 0, 1, 1, 0, 0) + b"\xa0"
    data += struct.pack(">H", binascii.crc_hqx(data, 0))
    return b"\x06\x09" + base64.b64encode(struct.pack(">H", len(data)) + data) + b"\n"


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files.S``, with which a program contains each of the files from NAME_start to NAME_end."""
    text = '.section .files,"a"\n'
    for name, data in files.items():
        (folder / f"{name}.bin").write_bytes(data)
        text += f'.balign 4\n.global {name}_start\n{name}_start: .incbin "{folder / name}.bin"\n'
        text += f".global {name}_end\n{name}_end:\n"
    (folder / "files.S").write_text(text)


def _build(folder: Path, core: str, algorithm: str, parts: int, flags: tuple[str, ...]) -> Path:
    """Build the program and return its ELF."""
    check, library = CHECKS[algorithm], library_or_skip(algorithm)
    (folder / "link.ld").write_text(SCRIPT.replace("STACK", str(_STACK_BYTES), 1))
    files = {"image": signed(replace(MODEL, counter=1), algorithm=algorithm), "key": public_key(algorithm)}
    files |= {"abi": ABI, "request": state_request()}
    write_files(folder, files)
    elf = folder / f"{core}-{algorithm}-{parts}.elf"
    own = [Path(__file__).with_name("updater.c"), folder / "files.S", *check.library_paths(library)]
    own += [*check.source_paths, *(UPDATE.path(name) for name in _BOOT)]
    options = [f"-mcpu={core}", "-mthumb", *_FLAGS, *SIZE_FLAGS, *check.defines, f'-DDEVICE_BOARD="{BOARD}"']
    options += [*_SECTIONS, *UPDATE.include_flags, *check.flags(library), f"-T{folder / 'link.ld'}"]
    options += [f"-DPARTS={parts}", *flags]
    command = ["arm-none-eabi-gcc", *options, *map(str, own), *smp_sources(), "-lgcc", "-o", str(elf)]
    subprocess.run(command, check=True)
    return elf


def _sizes(elf: Path) -> tuple[int, int]:
    """Return the bytes of code and of static RAM."""
    table = subprocess.run(
        ["arm-none-eabi-size", str(elf)], check=True, capture_output=True, text=True
    ).stdout
    text, _, bss = map(int, table.splitlines()[1].split()[:3])
    return text, bss


def measure(core: str, algorithm: str, program: str = "one program", *flags: str) -> Updater:
    """Return the needs of ``program`` on ``core``, keys of ``PROGRAMS`` and ``MACHINES``, with more flags."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        elf = _build(folder, core, algorithm, PROGRAMS[program], flags)
        with_parts, without = _sizes(elf), _sizes(_build(folder, core, algorithm, 0, flags))
        table = subprocess.run(
            ["arm-none-eabi-nm", str(elf)], check=True, capture_output=True, text=True
        ).stdout
        symbols = {symbol: int(at, 16) for at, symbol in re.findall(r"^(\w+) \w (\w+)$", table, re.MULTILINE)}
        device = Device(elf, folder, MACHINES[core])
        try:
            assert device.send(f"Z0,{symbols['done'] & ~1:x},2") == "OK"
            assert device.run() == symbols["done"] & ~1
            loader, loader_stack, server, server_stack, check_ticks, loop_ticks = struct.unpack(
                "<6I", device.read(symbols["reported"], 24)
            )
        finally:
            device.close()
    return Updater(
        with_parts[0] - without[0],
        with_parts[1] - without[1],
        max(loader_stack, server_stack),
        round(check_ticks * 2 * _LOOPS / loop_ticks),
        (loader, server),
    )


def rows() -> list[str]:
    """Return the rows of the table in docs/update-images.md."""
    result = []
    for core in MACHINES:
        for algorithm in CHECKS:
            one, loader, application = (measure(core, algorithm, program) for program in PROGRAMS)
            cells = [core.replace("cortex-m", "Cortex-M"), algorithm]
            numbers = [one.flash_bytes, one.ram_bytes, loader.flash_bytes, loader.ram_bytes]
            numbers += [application.flash_bytes, application.ram_bytes, one.check_instructions]
            result.append(f"| {' | '.join([*cells, *(f'{number:,}' for number in numbers)])} |")
    return result


if __name__ == "__main__":
    print("\n".join(rows()))
