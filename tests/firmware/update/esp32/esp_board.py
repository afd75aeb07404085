"""Run the program of ``arenite update build`` for an ESP32-C3 on QEMU's RISC-V machine, with a model of ESP-IDF."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arenite.firmware.boards.cores import core_named
from arenite.firmware.boards.families import family_named
from arenite.firmware.boards.linker import linker_script
from arenite.firmware.boards.toolchains import GCC, compiler_flags
from arenite.firmware.espidf.update_partitions import partition_table, update_partitions
from arenite.firmware.sources import BOARDS
from arenite.host.emulator.machine import RunningEmulator, start
from arenite.profiles.boards import load_board

_HERE = Path(__file__).parent
BOARD, _MACHINE = "esp32-c3-devkitm-1", "qemu_riscv32"
#: The RAM of the machine, and where the flash memory is in it.
_RAM_AT, _RAM_BYTES, _FLASH_AT = 0x80000000, 64 << 20, 0x82000000
_STACK_BYTES = 8192
_PAGES = {"OTA": "ota_0", "MODEL": "model_0", "UPDATE": "update"}


def project_macros(project: Path) -> list[str]:
    """Return the macros with which ESP-IDF compiles the sources of ``project``."""
    text = (project / "src/CMakeLists.txt").read_text()
    found = re.search(r"target_compile_definitions\(\S+ PRIVATE (.*)\)", text)
    assert found is not None
    return found[1].split()


def build(project: Path, folder: Path) -> Path:
    """Compile the C files of ``project``, except for the port of ESP-IDF, with warnings as errors. Return the ELF."""
    machine = load_board(_MACHINE)
    assert machine.emulator is not None
    core, family = core_named(machine.core), family_named(machine.emulator.family)
    flags = compiler_flags(core, GCC)
    places = {p.name: p for p in update_partitions(load_board(BOARD))}
    values = {f"{name.upper()}_AT": places[name].offset for name in places if name != "nvs"}
    values |= {f"{name}_PAGES": places[key].size // 4096 for name, key in _PAGES.items()}
    macros = [f"-D{name}={value:#x}u" for name, value in {**values, "FLASH_AT": _FLASH_AT}.items()]
    macros += [f"-D{text}" for text in (*project_macros(project), *family.defines)]
    include = [f"-I{project / name}" for name in ("src", "lib/arenite", "lib/update", "lib/board")]
    include += [
        f"-isystem{project / 'lib/signature'}",
        f"-I{_HERE}",
        f"-I{_HERE.parent}",
        *BOARDS.include_flags,
    ]
    script = folder / "link.ld"
    script.write_text(linker_script(machine, _STACK_BYTES))
    sources = [path for path in sorted(project.rglob("*.c")) if path.name != "port_espidf.c"]
    sources += [BOARDS.path(name) for name in (core.start, *core.helpers, *family.sources)]
    sources += [_HERE / "emulated_esp.c", _HERE / "esp_model.c"]
    objects = []
    for number, source in enumerate(sources):
        objects.append(str(folder / f"{number}.o"))
        # The machine has no C library: the compiler may not make calls of it from loops.
        is_model = source.name == "model_code.c" or source.parent.name == "arenite"
        options = ["-O2", "-fno-strict-aliasing"] if is_model else [*flags.support]
        if source.name == "update_main.c":
            options.append("-Dmain=update_main")
        command = [
            flags.compiler,
            *flags.flags,
            *options,
            *macros,
            *include,
            "-c",
            str(source),
            "-o",
            objects[-1],
        ]
        subprocess.run(command, check=True)
    elf = folder / "program.elf"
    command = [flags.compiler, *flags.link_flags, f"-T{script}", *objects, *flags.libraries, "-o", str(elf)]
    subprocess.run(command, check=True)
    return elf


def idf_build(project: Path, application: bytes) -> None:
    """Write what ``idf.py build`` writes into the project: ``application``, and stand-ins for the other files."""
    for name, data in (
        ("bootloader/bootloader.bin", b"\xe9 boot loader"),
        ("partition_table/partition-table.bin", partition_table(update_partitions(load_board(BOARD)))),
        ("firmware.bin", application),
    ):
        path = project / "build" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@contextmanager
def run(elf: Path, flash: bytes, folder: Path) -> Iterator[RunningEmulator]:
    """Run the program with ``flash`` in the flash memory until the block ends."""
    ram = folder / "ram.bin"
    with ram.open("wb") as stream:
        stream.seek(_FLASH_AT - _RAM_AT)
        stream.write(flash)
    os.truncate(ram, _RAM_BYTES)
    backend = f"memory-backend-file,id=ram,size={_RAM_BYTES},mem-path={ram.absolute()},share=on"
    extra = ("-m", f"{_RAM_BYTES >> 20}M", "-object", backend, "-machine", "memory-backend=ram")
    with start(load_board(_MACHINE), elf, extra=extra, icount=False) as machine:
        yield machine


def reset_over_usb(machine: RunningEmulator) -> None:
    """Reset the machine, as esptool does over the chip's own USB. The RAM keeps its content."""
    assert machine.process.stdin is not None
    machine.process.stdin.write(b'{"execute": "system_reset"}\n')
    machine.process.stdin.flush()
