"""The drivers of the flash memories of four families of STM32 keep the last record through a power cut in every
operation, on a model of the controllers that enforces their rules."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from arenite.firmware.sources import APP, STATE_STORE
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

#: A family with a text that tells its memories apart: bytes of a page, pages and the address of the first one. A memory
#: in two banks has the last two pages of the first one and the first page of the second one.
GEOMETRIES = {
    "l4": (2048, 3, 0x080FE800),
    "l4 two banks": (2048, 3, 0x0807F000),
    "g0": (2048, 3, 0x0807E800),
    "g0 two banks": (2048, 3, 0x0803F000),
    "f4": (131072, 2, 0x08040000),
    "f4 small": (16384, 2, 0x08008000),
    "h7": (131072, 2, 0x081C0000),
    "h7 first bank": (131072, 2, 0x08020000),
}
#: The files of applications for these memories; the other ones are of updates.
_APPLICATIONS = ("l4", "f4", "h7")
_NMI = """
void NMI_Handler(void);
void NMI_Handler(void)
{{
    while (!ar_flash_stm32{family}_nmi()) {{
    }}
}}
"""
#: Chip, family and core of the device headers.
_CHIPS = [
    ("STM32L475xx", "l4", "cortex-m4"),
    ("STM32L432xx", "l4", "cortex-m4"),
    ("STM32F401xE", "f4", "cortex-m4"),
    ("STM32F411xE", "f4", "cortex-m4"),
    ("STM32F446xx", "f4", "cortex-m4"),
    ("STM32F407xx", "f4", "cortex-m4"),
    ("STM32H743xx", "h7", "cortex-m7"),
    ("STM32G0B1xx", "g0", "cortex-m0plus"),
]
#: A memory, a mistake in its driver, and what the model says about it.
_MISTAKES = [
    (
        "l4",
        "    stm32_barrier(); /* an NMI",
        "    /* an NMI",
        "an NMI comes after the driver has read its result",
    ),
    ("l4", "KEYR = STM32_FLASH_KEY_2;", "", "written while it is locked"),
    ("l4", "&SR, SR_BSY", "&SR, 0", "without permission|while an operation runs"),
    ("l4", "number % BANK_PAGES", "0u", "is erased"),
    ("l4", "(access & ~(uint32_t)ACR_DCEN) | ACR_DCRST", "access", "old data"),
    ("g0 two banks", "SECOND_BANK - BANK_PAGES", "0u", "page 128 of bank 2"),
    ("g0", "bank = CR_BKER", "bank = 0", "of bank 1"),
    ("g0", "    ECC2R |= ECCD;\n", "", "the NMI comes again"),
    ("g0", "SR & BUSY) {\n        return 1", "0) {\n        return 1", "while an operation runs"),
    ("f4", "operation | CR_PSIZE_WORD", "operation", "another size"),
    ("f4", "BEFORE_SECTOR = 4", "BEFORE_SECTOR = 3", "is erased"),
    ("f4", "    wait();\n    return finish", "    return finish", "while an operation runs"),
    ("f4 small", "? erase : erase_small", "? erase_small : erase", "bytes is erased"),
    ("h7", "stm32_mask_faults(1);", "", "a bus fault"),
    ("h7", "SR(context) & BUSY) {\n        return 1", "0) {\n        return 1", "while an operation runs"),
    ("h7", "i += 4", "i += 8", "not in their order"),
    ("h7 first bank", ">= BANK_2 ? 0x100u : 0u", ">= BANK_2 ? 0u : 0x100u", "without permission"),
]


def _memory(name: str) -> Memory:
    page, pages, address = GEOMETRIES[name]
    family = name[:2]
    size = "APP_FLASH_PAGE, " if family == "f4" else ""
    return Memory(
        f"MODEL_{family.upper()}",
        "stm32_controller.c",
        f"flash_stm32{family}.c",
        ("flash_stm32.h", "flash_stm32_core.h"),
        f"ar_flash_stm32{family}(flash, APP_FLASH_ADDRESS, {size}APP_FLASH_PAGES);",
        page,
        pages,
        address,
        _NMI.format(family=family) if family in ("l4", "g0") else "",
    )


def _region(name: str) -> str | None:
    """Return the C file of applications that chooses the pages, or None for the pages of updates."""
    return APP.read(f"flash_region_stm32{name}.c") if name in _APPLICATIONS else None


@needs_x86
@pytest.mark.slow
@pytest.mark.parametrize("name", GEOMETRIES)
def test_a_cut_in_every_operation_keeps_the_last_record_whole(name: str, tmp_path: Path) -> None:
    memory = _memory(name)
    result = run_model(tmp_path, memory, STATE_STORE.read(memory.driver), region=_region(name))
    check_counts(result, cuts=200, has_check_bits=name[:2] != "f4")


@needs_x86
@pytest.mark.slow
@pytest.mark.parametrize(("name", "text", "wrong", "problem"), _MISTAKES)
def test_the_model_finds_mistakes(name: str, text: str, wrong: str, problem: str, tmp_path: Path) -> None:
    check_mistake(tmp_path, _memory(name), text, wrong, problem)


@pytest.mark.parametrize(("chip", "family", "core"), _CHIPS)
def test_the_registers_of_the_model_are_those_of_the_vendor(
    chip: str, family: str, core: str, tmp_path: Path
) -> None:
    folders = [HEADERS / "CMSIS_5/CMSIS/Core/Include", HEADERS / f"cmsis_device_{family}/Include"]
    for folder in folders:
        if not folder.is_dir():
            pytest.skip(f"needs headers in {folder} (ARENITE_DRIVER_HEADERS)")
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("needs arm-none-eabi-gcc")
    text = (MODELS / "stm32_model.h").read_text()
    start = {"l4": "MODEL_L4)", "g0": "MODEL_G0)", "f4": "MODEL_F4)", "h7": "#else"}[family]
    end = {"l4": "#elif", "g0": "#elif", "f4": "#else", "h7": "#endif"}[family]
    part = text[text.index(start) :].split(end)[0]
    part = part.removeprefix("#else")
    numbers = re.findall(r"#define (FLASH_\w+) (.+)", part)
    assert len(numbers) > 12
    checks = [
        f'_Static_assert({name} == ({value}), "{name}");'
        for name, value in numbers
        if not (chip == "STM32L432xx" and name == "FLASH_CR_BKER")
    ]
    fields = re.search(r"volatile uint32_t (.+);", part)
    assert fields is not None
    offset = 0
    for field in fields[1].split(", "):
        name, _, count = field.partition("[")
        if name.isupper() or name[:-1].isupper():
            checks.append(f'_Static_assert(offsetof(FLASH_TypeDef, {name}) == {offset}, "{name}");')
        offset += 4 * int(count.rstrip("]") or 1)
    headers = f"#include <stddef.h>\n#include <stm32{family}xx.h>\n"
    (tmp_path / "numbers.c").write_text(headers + "\n".join(checks) + "\n")
    command = ["arm-none-eabi-gcc", "-Wall", "-Wextra", "-Werror", "-std=gnu11", "-ffreestanding", "-mthumb"]
    command += [f"-mcpu={core}", "-O2", "-c", f"-D{chip}"]
    command += [word for folder in folders for word in ("-isystem", str(folder))]
    command += ["-o", str(tmp_path / "numbers.o"), str(tmp_path / "numbers.c")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4", "cortex-m7"])
def test_drivers_compile_for_every_core(core: str, tmp_path: Path) -> None:
    # A library of an application has all drivers, whatever its board.
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("needs arm-none-eabi-gcc")
    for name in GEOMETRIES:
        folder = tmp_path / name
        folder.mkdir()
        compile_driver(folder, _memory(name), core, _region(name))
