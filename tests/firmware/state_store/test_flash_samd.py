"""The drivers of the flash memories of SAMD21 and SAMD51 keep the last record through a power cut in every operation,
on a model of the controllers that enforces their rules."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from arenite.firmware.sources import STATE_STORE
from tests.firmware.app.vendor_headers import HEADERS
from tests.firmware.state_store.controller_model import (
    MODELS,
    Memory,
    check_counts,
    check_mistake,
    compile_driver,
    needs_x86,
    run_model,
)

#: The last pages of the memories of 256 KB and 1 MB.
MEMORIES = {
    "samd21": Memory(
        *("MODEL_SAMD21", "samd_controller.c", "flash_samd21.c", ("flash_samd.h",)),
        "ar_flash_samd21(flash, APP_FLASH_ADDRESS, APP_FLASH_PAGES);",
        *(256, 3, 0x3FD00),
    ),
    "samd51": Memory(
        *("MODEL_SAMD51", "samd_controller.c", "flash_samd51.c", ("flash_samd.h",)),
        "ar_flash_samd51(flash, APP_FLASH_ADDRESS, APP_FLASH_PAGES);",
        *(8192, 3, 0xFA000),
    ),
}
#: A memory, a mistake in its driver, and what the model says about it.
_MISTAKES = [
    ("samd21", "CTRLB |= MANUAL_WRITE;", "", "begins a write"),
    ("samd21", "        command(CLEAR_BUFFER);", "", "without being cleared"),
    ("samd21", "    command(INVALIDATE_CACHE);", "", "old data"),
    ("samd21", "while (!(INTFLAG & READY)) {\n    }", "", "another one runs|a command runs"),
    ("samd21", "KEY = 0xA500", "KEY = 0x5A00", "without its key"),
    ("samd21", "ADDR = (uint32_t)address / 2;", "ADDR = (uint32_t)address;", "the buffer of page"),
    ("samd21", "page * AR_SAMD21_ROW) / 2", "page * AR_SAMD21_ROW)", "is erased"),
    ("samd21", "enum {\n    UNIT = 32", "enum {\n    UNIT = 16", "words of a unit|more than 8 times"),
    ("samd51", "| NO_LINES", "", "lines of the controller's cache are on"),
    ("samd51", "        command(CLEAR_BUFFER);", "", "without being cleared"),
    ("samd51", "    CACHE_MAINT0 = 1;", "", "old data"),
    (
        "samd51",
        "    CACHE_CTRL = 0;\n    while (CACHE_SR & CACHE_IS_ON) {\n    }\n",
        "",
        "while it is on",
    ),
    ("samd51", "    forget(); /* the next read", "    /* the next read", "another result"),
    ("samd51", "    (void)ECCERR; /* a read", "    /* a read", "another result|is not found|expected|saved"),
    ("samd51", "while (!(STATUS & READY)) {\n    }\n}", "}", "another one runs|a command runs"),
    ("samd51", "UNIT = 16", "UNIT = 8", "words of a unit"),
    (
        "samd51",
        "page * AR_SAMD51_BLOCK);\n    command",
        "page * 4096);\n    command",
        "was not used",
    ),
]
#: A memory, the chip of the header, its core and the folder of headers.
_CHIPS = [("samd21", "__SAMD21G18A__", "cortex-m0plus"), ("samd51", "__SAMD51P20A__", "cortex-m4")]


@needs_x86
@pytest.mark.slow
@pytest.mark.parametrize("name", MEMORIES)
def test_a_cut_in_every_operation_keeps_the_last_record_whole(name: str, tmp_path: Path) -> None:
    memory = MEMORIES[name]
    result = run_model(tmp_path, memory, STATE_STORE.read(memory.driver))
    check_counts(result, cuts=40, has_check_bits=name == "samd51")


@needs_x86
@pytest.mark.slow
@pytest.mark.parametrize(("name", "text", "wrong", "problem"), _MISTAKES)
def test_the_model_finds_mistakes(name: str, text: str, wrong: str, problem: str, tmp_path: Path) -> None:
    check_mistake(tmp_path, MEMORIES[name], text, wrong, problem)


@pytest.mark.parametrize(("name", "chip", "core"), _CHIPS)
def test_the_registers_of_the_model_are_those_of_the_vendor(
    name: str, chip: str, core: str, tmp_path: Path
) -> None:
    folders = [
        HEADERS / "CMSIS_5/CMSIS/Core/Include",
        HEADERS / f"ArduinoModule-CMSIS-Atmel/CMSIS-Atmel/CMSIS/Device/ATMEL/{name}/include",
    ]
    for folder in folders:
        if not folder.is_dir():
            pytest.skip(f"needs headers in {folder} (ARENITE_DRIVER_HEADERS)")
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("needs arm-none-eabi-gcc")
    text = (MODELS / "samd_model.h").read_text()
    parts = text.split("#else")
    numbers = re.findall(r"#define (\w+_(?:OFFSET|Pos|Val)) (\w+)", parts[name == "samd51"])
    assert len(numbers) > 14
    checks = [f'_Static_assert({number} == ({value}), "{number}");' for number, value in numbers]
    checks.append('_Static_assert((uint32_t)NVMCTRL == 0x41004000u, "NVMCTRL");')
    if name == "samd51":
        checks.append('_Static_assert((uint32_t)CMCC == 0x41006000u, "CMCC");')
    source = f"#include <stdint.h>\n#include <{name}.h>\n" + "\n".join(checks) + "\n"
    (tmp_path / "numbers.c").write_text(source)
    command = ["arm-none-eabi-gcc", "-std=gnu11", "-ffreestanding", "-mthumb", f"-mcpu={core}", f"-D{chip}"]
    command += [word for folder in folders for word in ("-isystem", str(folder))]
    command += ["-c", "-o", str(tmp_path / "numbers.o"), str(tmp_path / "numbers.c")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc")
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4"])
@pytest.mark.parametrize("name", MEMORIES)
def test_drivers_compile_for_every_core(name: str, core: str, tmp_path: Path) -> None:
    compile_driver(tmp_path, MEMORIES[name], core)
