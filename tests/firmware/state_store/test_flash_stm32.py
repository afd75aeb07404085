"""The drivers of the flash memories of three families of STM32 keep the last record through a power cut in every
operation, on a model of the controllers that enforces their rules."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from arenite.firmware.sources import APP, STATE_STORE
from tests.firmware.app.vendor_headers import HEADERS

_MODEL = Path(__file__).with_name("stm32")
#: Family: bytes of a page, pages and the address of the first one.
GEOMETRIES = {
    "l4": (2048, 3, 0x080FE800),
    "f4": (131072, 2, 0x08040000),
    "h7": (131072, 2, 0x081C0000),
}
#: Chip, family and core of the device headers.
_CHIPS = [
    ("STM32L475xx", "l4", "cortex-m4"),
    ("STM32L432xx", "l4", "cortex-m4"),
    ("STM32F401xE", "f4", "cortex-m4"),
    ("STM32F411xE", "f4", "cortex-m4"),
    ("STM32F446xx", "f4", "cortex-m4"),
    ("STM32F407xx", "f4", "cortex-m4"),
    ("STM32H743xx", "h7", "cortex-m7"),
]
#: A mistake in a driver, and what the model says about it.
_MISTAKES = [
    (
        "l4",
        "    __DSB(); /* the reads are complete, */\n",
        "",
        "an NMI comes after the driver has read its result",
    ),
    ("l4", "FLASH->KEYR = STM32_FLASH_KEY_2;", "", "written while it is locked"),
    ("l4", "k += UNIT", "k += UNIT / 2", "programmed twice|not in their order"),
    ("l4", "number % BANK_PAGES", "0u", "is erased"),
    ("l4", "(access & ~FLASH_ACR_DCEN) | FLASH_ACR_DCRST", "access", "old data"),
    ("f4", "operation | FLASH_CR_PSIZE_1", "operation", "another size"),
    ("f4", "BEFORE_SECTOR = 4", "BEFORE_SECTOR = 3", "is erased"),
    ("f4", "    wait();\n    return finish", "    return finish", "while an operation runs"),
    ("h7", "__set_FAULTMASK(1);", "", "a bus fault"),
    ("h7", "FLASH->SR2 & BUSY) {\n        return 1", "0) {\n        return 1", "while an operation runs"),
    ("h7", "i += 4", "i += 8", "not in their order"),
]

needs_x86 = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the model runs single x86-64 instructions"
)


def _write_headers(folder: Path, family: str) -> None:
    """Write the headers of an application that the driver includes."""
    page, pages, address = GEOMETRIES[family]
    (folder / "app_learning.h").write_text(
        f"#define APP_FLASH_PAGE {page}u\n#define APP_FLASH_PAGES {pages}u\n#define APP_FLASH_ADDRESS {address:#x}u\n"
    )
    (folder / "arenite").mkdir()
    for name in ("flash.h", "state_store.h"):
        (folder / "arenite" / name).write_text(STATE_STORE.read(name))
    (folder / "arenite/decision.h").write_text("typedef struct { int at; } ar_event;\n")


def _run(folder: Path, family: str, driver: str, stride: int = 1) -> subprocess.CompletedProcess[str]:
    """Compile the model with the text of a driver, and cut the power in every operation, or in one of ``stride``."""
    _write_headers(folder, family)
    (folder / "driver.c").write_text(driver)
    store = STATE_STORE.read("state_store.c").replace('"state_store.h"', '"arenite/state_store.h"')
    (folder / "store.c").write_text(store)
    command = [
        "gcc",
        "-std=gnu99",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O2",
        "-no-pie",
        f"-DMODEL_{family.upper()}",
    ]
    command += [f"-I{folder}", f"-I{_MODEL}", *APP.include_flags, *map(str, sorted(_MODEL.glob("*.c")))]
    command += [str(folder / name) for name in ("driver.c", "store.c")]
    subprocess.run([*command, "-o", str(folder / "model")], check=True)
    return subprocess.run([str(folder / "model"), str(stride)], capture_output=True, text=True, timeout=300)


@needs_x86
@pytest.mark.slow
@pytest.mark.parametrize("family", GEOMETRIES)
def test_a_cut_in_every_operation_keeps_the_last_record_whole(family: str, tmp_path: Path) -> None:
    result = _run(tmp_path, family, APP.read(f"flash_region_stm32{family}.c"))
    assert result.returncode == 0, result.stdout + result.stderr
    cuts, new, old, none, damaged = map(int, re.findall(r"\d+", result.stdout))
    assert cuts == new + old + none and cuts > 200, result.stdout
    assert min(new, old, none) > 0 and (damaged > 5) == (family != "f4"), result.stdout


@needs_x86
@pytest.mark.slow
@pytest.mark.parametrize(("family", "text", "wrong", "problem"), _MISTAKES)
def test_the_model_finds_mistakes(family: str, text: str, wrong: str, problem: str, tmp_path: Path) -> None:
    source = APP.read(f"flash_region_stm32{family}.c")
    assert text in source
    result = _run(tmp_path, family, source.replace(text, wrong), stride=5)
    assert result.returncode == 1 and re.search(problem, result.stdout), result.stdout


@pytest.mark.parametrize(("chip", "family", "core"), _CHIPS)
def test_a_driver_compiles_with_the_vendor_s_registers(
    chip: str, family: str, core: str, tmp_path: Path
) -> None:
    folders = [HEADERS / "CMSIS_5/CMSIS/Core/Include", HEADERS / f"cmsis_device_{family}/Include"]
    for folder in folders:
        if not folder.is_dir():
            pytest.skip(f"needs headers in {folder} (ARENITE_DRIVER_HEADERS)")
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("needs arm-none-eabi-gcc")
    _write_headers(tmp_path, family)
    # The numbers of the model are those of the vendor.
    text = (_MODEL / "stm32_model.h").read_text()
    start = {"l4": "MODEL_L4)", "f4": "MODEL_F4)", "h7": "#else"}[family]
    part = text[text.index(start) :].split(
        "#elif" if family == "l4" else "#else" if family == "f4" else "#endif"
    )[0]
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
    command += [f"-mcpu={core}", "-O2", "-c", f"-D{chip}", f"-I{tmp_path}", *APP.include_flags]
    command += [word for folder in folders for word in ("-isystem", str(folder))]
    for source in (tmp_path / "numbers.c", APP.path(f"flash_region_stm32{family}.c")):
        result = subprocess.run(
            [*command, "-o", str(tmp_path / "driver.o"), str(source)], capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
