"""Compile a driver of a flash memory with a model of its controller, and cut the power in every operation.

The memory and the registers are at their real addresses in a process. Each access of the driver raises a signal, and
the model does what the controller does: ``controllers/memory.c``. It enforces the rules of the controller.
"""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from arenite.firmware.sources import APP, STATE_STORE

MODELS = Path(__file__).with_name("controllers")
_SHARED = ("cuts.c", "memory.c", "operations.c")
_STRICT = ("-std=gnu99", "-Wall", "-Wextra", "-Werror", "-O2")
_REGION = """
#include "app_learning.h"
#include "arenite/{header}"
#include "learning.h"
{extra}
uint32_t learning_flash(ar_flash *flash)
{{
    {call}
    return 1;
}}
"""

needs_x86 = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the model runs single x86-64 instructions"
)


@dataclass(frozen=True)
class Memory:
    """Pages of a flash memory.

    Attributes:
        macro: Chooses the model, such as ``MODEL_NRF52``.
        controller: The C file of the model.
        driver: The C file of the driver.
        headers: The headers of the driver, of which the first one declares it.
        call: Fills ``flash``.
        page: Bytes that are erased together.
        pages: The number of pages that the test uses.
        address: The address of the first one.
        extra: C that the program needs besides, such as a handler of NMI.
    """

    macro: str
    controller: str
    driver: str
    headers: Sequence[str]
    call: str
    page: int
    pages: int
    address: int
    extra: str = ""

    @property
    def region(self) -> str:
        """Return the C file that chooses the pages."""
        return _REGION.format(header=self.headers[0], extra=self.extra, call=self.call)


def write_headers(folder: Path, memory: Memory) -> None:
    """Write the headers that driver and region include, as an application has them."""
    (folder / "app_learning.h").write_text(
        f"#define APP_FLASH_PAGE {memory.page}u\n#define APP_FLASH_PAGES {memory.pages}u\n"
        f"#define APP_FLASH_ADDRESS {memory.address:#x}u\n"
    )
    (folder / "arenite").mkdir()
    for name in ("flash.h", "state_store.h", *memory.headers):
        (folder / "arenite" / name).write_text(STATE_STORE.read(name))
        (folder / name).write_text(STATE_STORE.read(name))
    (folder / "arenite/decision.h").write_text("typedef struct { int at; } ar_event;\n")


def run_model(
    folder: Path, memory: Memory, driver: str, *, region: str | None = None, stride: int = 1
) -> subprocess.CompletedProcess[str]:
    """Compile the model with the text ``driver``, and cut the power in one of ``stride`` operations. ``region`` is the
    C file that chooses the pages, instead of that of ``memory``."""
    write_headers(folder, memory)
    store = STATE_STORE.read("state_store.c").replace('"state_store.h"', '"arenite/state_store.h"')
    texts = {"driver.c": driver, "region.c": memory.region if region is None else region, "store.c": store}
    for name, text in texts.items():
        (folder / name).write_text(text)
    command = [
        "gcc",
        *_STRICT,
        "-no-pie",
        "-DAR_FLASH_MODEL",
        f"-D{memory.macro}",
        f"-I{folder}",
        f"-I{MODELS}",
    ]
    command += [*APP.include_flags, *(str(MODELS / name) for name in (*_SHARED, memory.controller))]
    command += [str(folder / name) for name in texts]
    subprocess.run([*command, "-o", str(folder / "model")], check=True)
    return subprocess.run([str(folder / "model"), str(stride)], capture_output=True, text=True, timeout=600)


def check_counts(result: subprocess.CompletedProcess[str], *, cuts: int, has_check_bits: bool) -> None:
    """Check that power was cut more than ``cuts`` times, and that every kind of result came up."""
    assert result.returncode == 0, result.stdout + result.stderr
    total, new, old, none, damaged = map(int, re.findall(r"\d+", result.stdout))
    assert total == new + old + none and total > cuts, result.stdout
    assert min(new, old, none) > 0 and (damaged > 5) == has_check_bits, result.stdout


def check_mistake(folder: Path, memory: Memory, text: str, wrong: str, problem: str) -> None:
    """Check that the model finds the mistake ``wrong`` instead of ``text`` in the driver, and says ``problem``."""
    source = STATE_STORE.read(memory.driver)
    assert text in source
    result = run_model(folder, memory, source.replace(text, wrong), stride=5)
    assert result.returncode == 1 and re.search(problem, result.stdout), result.stdout


def compile_driver(folder: Path, memory: Memory, core: str, region: str | None = None) -> None:
    """Compile driver and region for a Cortex-M with strict warnings."""
    write_headers(folder, memory)
    (folder / "region.c").write_text(memory.region if region is None else region)
    command = ["arm-none-eabi-gcc", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
    command += ["-std=c99", "-Os", "-ffreestanding", "-mthumb", f"-mcpu={core}", "-c"]
    for source in (STATE_STORE.path(memory.driver), folder / "region.c"):
        options = [f"-I{folder}", *APP.include_flags, *STATE_STORE.include_flags]
        subprocess.run([*command, *options, "-o", str(folder / "o"), str(source)], check=True)
