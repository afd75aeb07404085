"""Measure a whole updater on a Cortex-M0 and a Cortex-M4: bytes of flash and RAM, and instructions of a check.

It is the check of an image, the choice of images with the swap, the state store, a flash driver and the server of the
Simple Management Protocol. They are measured in one program, and as two: a boot loader with its table of functions, and
an application that calls them. The sizes are those of the program less those of a program with nothing but the
scaffold: a start, a memory and actions that do nothing. What a device needs for its own port, slots and actions comes
on top. The application is also measured with the actions of device.h.

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
from arenite.firmware.update.loader import layout_header
from arenite.profiles.boards import load_board
from tests.firmware.state_store.power_cuts import Device
from tests.firmware.update.image_check import ABI, BOARD, MODEL, library_or_skip, public_key, signed
from tests.firmware.update.smp_device import sources as smp_sources

#: The board whose memories the two programs have: an nRF51.
_LAYOUT_BOARD = "qemu_microbit"

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
    .text ORIGIN : { KEEP(*(.vectors)) *(.text .text.* .rodata .rodata.*) KEEP(*(.files)) }
    .bss 0x20000000 (NOLOAD) : { *(.bss .bss.* COMMON) . = ALIGN(8); stack_bottom = .; . = . + STACK; stack_top = .; }
    /DISCARD/ : { *(.comment) *(.ARM.*) }
}
"""


#: Where an application is that calls the functions of a loader.
_APPLICATION_AT = 0x10000


@dataclass(frozen=True)
class Program:
    """A program with parts of an updater. ``parts`` is the macro PARTS of updater.c."""

    parts: int
    has_table: bool = False  # a boot loader with a table of functions
    calls_table: bool = False  # an application that calls them


PROGRAMS = {
    "one program": Program(3),
    "boot loader": Program(1, has_table=True),
    "application": Program(2, calls_table=True),
    "application with device.h": Program(4, calls_table=True),
}


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


def script(stack_bytes: int, origin: int = 0) -> str:
    """Return the linker's script of a program at ``origin``."""
    return SCRIPT.replace("STACK", str(stack_bytes), 1).replace("ORIGIN", str(origin), 1)


def _sources(algorithm: str, program: Program) -> list[Path]:
    """Return the C files of an updater. Those that a program does not need are not linked."""
    check, library = CHECKS[algorithm], library_or_skip(algorithm)
    if program.calls_table:
        names = ["loader_calls.c", "boot_state.c", "coded_frames.c", "reed_solomon.c"]
        return [*map(UPDATE.path, names), *(p for p in UPDATE.paths(".c") if p.name.startswith("device"))]
    own = [*check.library_paths(library), *check.source_paths, *map(UPDATE.path, _BOOT)]
    return own + [UPDATE.path(name) for name in ("loader_table.c", "slots.c") if program.has_table]


def _build(folder: Path, core: str, algorithm: str, program: Program, flags: tuple[str, ...]) -> Path:
    """Build the program and return its ELF."""
    check, library = CHECKS[algorithm], library_or_skip(algorithm)
    (folder / "link.ld").write_text(script(_STACK_BYTES, _APPLICATION_AT if program.calls_table else 0))
    (folder / "update_layout.h").write_text(layout_header(load_board(_LAYOUT_BOARD)))
    files = {"image": signed(replace(MODEL, counter=1), algorithm=algorithm), "key": public_key(algorithm)}
    files |= {"abi": ABI, "request": state_request()}
    write_files(folder, files)
    elf = folder / f"{core}-{algorithm}-{program.parts}.elf"
    own = [Path(__file__).with_name("updater.c"), folder / "files.S", *_sources(algorithm, program)]
    options = [f"-mcpu={core}", "-mthumb", *_FLAGS, *SIZE_FLAGS, *check.defines, f'-DDEVICE_BOARD="{BOARD}"']
    options += [*_SECTIONS, f"-I{folder}", *UPDATE.include_flags, *check.flags(library)]
    options += [f"-T{folder / 'link.ld'}", f"-DPARTS={program.parts}", *flags]
    options += ["-DTWO_PROGRAMS"] if program.has_table or program.calls_table else []
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


def _start_application(device: Device, elf: Path) -> None:
    """Write an application behind the loader that ``device`` has, and start it."""
    binary = elf.with_suffix(".bin")
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", str(elf), str(binary)], check=True)
    data = binary.read_bytes()
    for at in range(0, len(data), 1024):  # a packet has at most 4,096 characters
        device.write(_APPLICATION_AT + at, data[at : at + 1024])
    stack, start = data[:4], (int.from_bytes(data[4:8], "little") & ~1).to_bytes(4, "little")
    for register, value in (("d", stack), ("f", start)):
        assert device.send(f"P{register}={value.hex()}") == "OK"


def measure(core: str, algorithm: str, name: str = "one program", *flags: str) -> Updater:
    """Return the needs of the program ``name`` on ``core``, keys of ``PROGRAMS`` and ``MACHINES``, with more flags."""
    program = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        elf = _build(folder, core, algorithm, program, flags)
        without = _sizes(_build(folder, core, algorithm, replace(program, parts=0), flags))
        with_parts = _sizes(elf)
        started = elf
        if program.calls_table:
            started = _build(folder, core, algorithm, PROGRAMS["boot loader"], flags)
        table = subprocess.run(
            ["arm-none-eabi-nm", str(elf)], check=True, capture_output=True, text=True
        ).stdout
        symbols = {symbol: int(at, 16) for at, symbol in re.findall(r"^(\w+) \w (\w+)$", table, re.MULTILINE)}
        device = Device(started, folder, MACHINES[core])
        try:
            if program.calls_table:
                _start_application(device, elf)
            assert device.send(f"Z0,{symbols['done'] & ~1:x},2") == "OK"
            assert device.run() == symbols["done"] & ~1
            loader, loader_stack, server, server_stack, check_ticks, loop_ticks = struct.unpack(
                "<2Ii3I", device.read(symbols["reported"], 24)
            )
        finally:
            device.close()
    return Updater(
        with_parts[0] - without[0],
        with_parts[1] - without[1],
        max(loader_stack, server_stack),
        round(check_ticks * 2 * _LOOPS / loop_ticks) if loop_ticks else 0,
        (loader, server),
    )


def rows() -> list[str]:
    """Return the rows of the tables of updaters in docs/update-images.md: first one program, then two."""
    one, two = [], []
    for core in MACHINES:
        for algorithm in CHECKS:
            first = [core.replace("cortex-m", "Cortex-M"), algorithm]
            program = measure(core, algorithm)
            numbers = [program.flash_bytes, program.ram_bytes, program.check_instructions]
            one.append(f"| {' | '.join([*first, *(f'{number:,}' for number in numbers)])} |")
            loader, *applications = (
                measure(core, algorithm, name) for name in PROGRAMS if name != "one program"
            )
            numbers = [loader.flash_bytes, loader.ram_bytes]
            for each in applications:
                numbers += [each.flash_bytes, each.ram_bytes, loader.flash_bytes + each.flash_bytes]
            two.append(f"| {' | '.join([*first, *(f'{number:,}' for number in numbers)])} |")
    return [*one, "", *two]


if __name__ == "__main__":
    print("\n".join(rows()))
