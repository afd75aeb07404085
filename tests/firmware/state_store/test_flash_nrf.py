"""The driver of the flash memory of the nRF52 keeps the last record through a power cut in every operation, on a model
of the controller that enforces its rules. The nRF51 is tested in QEMU (test_power_cuts.py)."""

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
    needs_x86,
    run_model,
)

#: The last pages of the 1 MB of an nRF52840.
NRF52 = Memory(
    *("MODEL_NRF52", "nrf_controller.c", "flash_nrf.c", ("flash_nrf.h",)),
    "ar_flash_nrf(flash, APP_FLASH_ADDRESS, AR_NRF52_PAGE, APP_FLASH_PAGES);",
    *(4096, 3, 0xFD000),
)
#: A mistake in the driver, and what the model says about it.
_MISTAKES = [
    ("CONFIG = WRITE_ENABLED;", "", "without permission"),
    ("CONFIG = ERASE_ENABLED;", "", "without permission"),
    ("        wait();\n", "", "while an operation runs"),
    ("    wait();\n    CONFIG = READ_ONLY;", "    CONFIG = READ_ONLY;", "while an operation runs"),
    ("page * (AR_NRF52_PAGE / AR_NRF51_PAGE)", "page", "of no page"),
    ("i += 4", "i += 2", "at offset|at [0-9a-f]+|programmed twice"),
]


@needs_x86
@pytest.mark.slow
def test_a_cut_in_every_operation_keeps_the_last_record_whole(tmp_path: Path) -> None:
    result = run_model(tmp_path, NRF52, STATE_STORE.read("flash_nrf.c"))
    check_counts(result, cuts=200, has_check_bits=False)


@needs_x86
@pytest.mark.slow
@pytest.mark.parametrize(("text", "wrong", "problem"), _MISTAKES)
def test_the_model_finds_mistakes(text: str, wrong: str, problem: str, tmp_path: Path) -> None:
    check_mistake(tmp_path, NRF52, text, wrong, problem)


def test_the_registers_of_the_model_are_those_of_the_vendor(tmp_path: Path) -> None:
    core = HEADERS / "CMSIS_5/CMSIS/Core/Include"
    found = sorted((HEADERS / "nrfx").rglob("nrf52840.h"))
    if not core.is_dir() or not found:
        pytest.skip(f"needs headers in {core} and {HEADERS / 'nrfx'} (ARENITE_DRIVER_HEADERS)")
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("needs arm-none-eabi-gcc")
    text = (MODELS / "nrf_model.h").read_text()
    numbers = re.findall(r"#define (NVMC_\w+|NRF_NVMC_BASE) (.+)", text)
    assert len(numbers) == 5
    modes = ("Ren", "Wen", "Een")
    checks = []
    for name, value in numbers:
        vendor = name if not name.endswith(modes) else f"(NVMC_CONFIG_WEN_{name[-3:]} << NVMC_CONFIG_WEN_Pos)"
        checks.append(f'_Static_assert({vendor} == {value}, "{name}");')
    for name, offset in (("READY", 0x400), ("CONFIG", 0x504), ("ERASEPAGE", 0x508)):
        checks.append(f'_Static_assert(offsetof(NRF_NVMC_Type, {name}) == {offset}, "{name}");')
    includes = "#include <stddef.h>\n#include <nrf52840.h>\n#include <nrf52840_bitfields.h>\n"
    (tmp_path / "numbers.c").write_text(includes + "\n".join(checks) + "\n")
    command = ["arm-none-eabi-gcc", "-std=gnu11", "-ffreestanding", "-mthumb", "-mcpu=cortex-m4"]
    command += ["-DNRF52840_XXAA", "-isystem", str(core), "-isystem", str(found[0].parent)]
    command += ["-c", "-o", str(tmp_path / "numbers.o"), str(tmp_path / "numbers.c")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
