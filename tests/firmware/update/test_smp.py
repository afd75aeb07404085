"""The update protocol withstands hostile frames, and compiles to the sizes that its page tells."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from arenite.firmware.sources import UPDATE
from tests.firmware.update.smp_device import sources
from tests.firmware.update.smp_fuzz import run

PAGE = Path(__file__).parents[3] / "docs" / "update-serial.md"
FLAGS = ("-mthumb", "-Os", "-std=c99", "-ffreestanding", "-ffunction-sections", "-Wall", "-Wextra", "-Werror")
MAX_FLASH_BYTES, MAX_RAM_BYTES = 5 * 1024, 800


def test_hostile_frames() -> None:
    output = run(5_000, seed=3)
    counts = {name: int(count) for count, name in re.findall(r"(\d+) (answers|uploads|chunks|ends)", output)}
    assert (
        counts["answers"] > 2_000 and counts["uploads"] > 50 and counts["chunks"] > 50 and counts["ends"] > 5
    )


@pytest.mark.slow
def test_many_hostile_frames() -> None:
    run(200_000, seed=4)


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4"])
def test_sizes(core: str, tmp_path: Path) -> None:
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    probe = tmp_path / "probe.c"
    probe.write_text('#include "smp.h"\nar_smp ram_probe;\n')
    flags = (f"-mcpu={core}", *FLAGS, *UPDATE.include_flags)
    subprocess.run(["arm-none-eabi-gcc", *flags, "-c", *sources(), str(probe)], check=True, cwd=tmp_path)
    objects = sorted(str(path) for path in tmp_path.glob("*.o") if path.stem != "probe")
    table = subprocess.run(
        ["arm-none-eabi-size", *objects], check=True, capture_output=True, text=True
    ).stdout
    rows = [tuple(map(int, line.split()[:3])) for line in table.splitlines()[1:]]
    assert sum(data + bss for _, data, bss in rows) == 0
    symbols = subprocess.run(
        ["arm-none-eabi-nm", "-S", str(tmp_path / "probe.o")], check=True, capture_output=True, text=True
    ).stdout
    size = re.search(r"^\w+ (\w+) B ram_probe", symbols, re.MULTILINE)
    assert size is not None
    flash, ram = sum(text for text, _, _ in rows), int(size[1], 16)
    assert flash <= MAX_FLASH_BYTES and ram <= MAX_RAM_BYTES
    gcc = subprocess.run(
        ["arm-none-eabi-gcc", "-dumpversion"], check=True, capture_output=True, text=True
    ).stdout
    row = re.search(rf"^\| {core} \| ([\d,]+) \| ([\d,]+) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    version = re.search(r"arm-none-eabi-gcc ([\d.]+)", PAGE.read_text("utf-8"))
    assert row is not None and version is not None, f"{core}: {flash:,} bytes of flash, {ram:,} bytes of RAM"
    if version[1] == gcc.strip():
        assert (f"{flash:,}", f"{ram:,}") == (row[1], row[2])
