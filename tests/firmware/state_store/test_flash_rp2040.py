"""The driver of the flash memory of the RP2040 keeps the last record through a power cut in every operation, on a model
of the boot ROM that enforces its rules; and the part of it that runs while flash cannot be read is in RAM."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from arenite.firmware.sources import STATE_STORE
from tests.firmware.state_store.controller_model import (
    Memory,
    check_counts,
    check_mistake,
    compile_driver,
    needs_x86,
    run_model,
)

#: The last sectors of 2 MB.
RP2040 = Memory(
    *("MODEL_RP2040", "rp2040_controller.c", "flash_rp2040.c", ("flash_rp2040.h",)),
    "ar_flash_rp2040(flash, APP_FLASH_ADDRESS, APP_FLASH_PAGES);",
    *(4096, 3, 0x101FD000),
)
#: A mistake in the driver, and what the model says about it.
_MISTAKES = [
    ("    rom.leave_xip();\n", "", "in state 1 instead of 2"),
    ("    rom.flush(); /*", "    /*", "in state 2 instead of 3"),
    ("    rp2040_run(rom.boot);\n", "", "while flash cannot be read"),
    ("        pads[k] = kept[k];", "        (void)kept[k];", "pad 0 was not put back"),
    ("kept[k] = pads[k];\n    }\n    rom.connect();", "kept[k] = 0;\n    }\n    rom.connect();", "put back"),
    ("rp2040_disable_interrupts();", "0;", "interrupts off 0"),
    (
        "        rom.program(at, data",
        "        rom.program(at, (const uint8_t *)(uintptr_t)0x101FD000",
        "is read at",
    ),
    (": 0xFF;", ": 0;", "programmed twice"),
    ("rom.boot[k] = boot[k];", "rom.boot[k] = boot[k] + 1;", "not a copy"),
]
_SCRIPT = """
MEMORY { FLASH : ORIGIN = 0x10000100, LENGTH = 64K  RAM : ORIGIN = 0x20000000, LENGTH = 256K }
SECTIONS
{
    .text : { *(.text .text.* .rodata .rodata.*) } > FLASH
    .data : { *(.result) *(.time_critical*) *(.data .data.*) } > RAM AT > FLASH
    .bss : { *(.bss .bss.* COMMON) } > RAM
    /DISCARD/ : { *(.ARM.*) *(.comment) }
}
"""


@needs_x86
@pytest.mark.slow
def test_a_cut_in_every_operation_keeps_the_last_record_whole(tmp_path: Path) -> None:
    result = run_model(tmp_path, RP2040, STATE_STORE.read("flash_rp2040.c"))
    check_counts(result, cuts=50, has_check_bits=False)


@needs_x86
@pytest.mark.slow
@pytest.mark.parametrize(("text", "wrong", "problem"), _MISTAKES)
def test_the_model_finds_mistakes(text: str, wrong: str, problem: str, tmp_path: Path) -> None:
    check_mistake(tmp_path, RP2040, text, wrong, problem)


def _link(folder: Path, optimise: str, entry: str, *sources: Path) -> Path:
    (folder / "link.ld").write_text(_SCRIPT)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-mthumb", "-mcpu=cortex-m0plus"]
    link = ["-nostdlib", f"-Wl,-e,{entry}", "-Wl,--no-warn-rwx-segments", f"-T{folder / 'link.ld'}"]
    command = ["arm-none-eabi-gcc", *flags, optimise, *STATE_STORE.include_flags, *link, *map(str, sources)]
    elf = folder / "driver.elf"
    subprocess.run([*command, str(STATE_STORE.path("flash_rp2040.c")), "-lgcc", "-o", str(elf)], check=True)
    return elf


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc")
@pytest.mark.parametrize("optimise", ["-Os", "-O2", "-O3"])
def test_the_part_that_runs_without_flash_is_in_ram_and_calls_nothing_in_flash(
    optimise: str, tmp_path: Path
) -> None:
    elf = _link(tmp_path, optimise, "ar_flash_rp2040")
    text = subprocess.run(
        ["arm-none-eabi-objdump", "-d", "-j", ".data", str(elf)], check=True, capture_output=True, text=True
    ).stdout
    body = re.search(r"^(\w+) <work>:\n(.*?)\n\n", text + "\n\n", re.MULTILINE | re.DOTALL)
    assert body is not None and int(body[1], 16) >= 0x20000000
    # Calls through registers are those of functions in ROM and of the copy in RAM.
    assert len(re.findall(r"\tblx\t", body[2])) == 6
    assert not re.search(r"\tbl\t", body[2]), body[2]
    constants = [int(number, 16) for number in re.findall(r"\.word\t0x([0-9a-f]+)", body[2])]
    assert constants and not any(0x10000000 <= number < 0x20000000 for number in constants), constants


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc")
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4", "cortex-m7"])
def test_driver_compiles_for_every_core(core: str, tmp_path: Path) -> None:
    compile_driver(tmp_path, RP2040, core)


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc")
@pytest.mark.skipif(util.find_spec("unicorn") is None, reason="needs the Python package unicorn")
@pytest.mark.parametrize("optimise", ["-Os", "-O3"])
def test_the_program_finds_the_functions_of_the_rom_and_runs_without_flash(
    optimise: str, tmp_path: Path
) -> None:
    here = Path(__file__).parent
    elf = _link(tmp_path, optimise, "start", here / "rp2040_program.c")
    with elf.open("rb") as stream:
        file = ELFFile(stream)
        table = file.get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        symbols = {symbol.name: symbol["st_value"] for symbol in table.iter_symbols()}
        segments = [
            (segment["p_vaddr"], segment.data().hex())
            for segment in file.iter_segments()
            if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]
        ]
    boot = symbols["rom"] + 5 * 4  # behind the five functions
    addresses = {"start": symbols["start"] & ~1, "end": symbols["end"] & ~1, "boot": boot}
    command = [
        sys.executable,
        str(here / "rp2040_machine.py"),
        json.dumps({"segments": segments, **addresses}),
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    answer = json.loads(run.stdout)
    # The 32 bytes are in two pages. Interrupts are off (1) in all functions, and on (0) at the end.
    erase = ["RE", 1, 0x1FF000, 4096, 65536, 0xD8]
    works = [erase, ["RP", 1, 0x1FF000, 256], ["RP", 1, 0x1FF100, 256]]
    calls = [[["IF", 1], ["EX", 1], work, ["FC", 1], ["boot", 1]] for work in works]
    assert answer["calls"] == [call for group in calls for call in group]
    written = bytes((3 * k + 1) & 255 for k in range(32))
    assert bytes.fromhex(answer["result"]) == b"\xff" * 8 + written + b"\xff" * 24
    assert answer["masked"] == 0
