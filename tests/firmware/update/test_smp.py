"""The update protocol withstands hostile frames, and compiles to the sizes that its page tells."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.firmware.update.sizes import CORES, PARTS, code_bytes, table_row
from tests.firmware.update.smp_fuzz import run

PAGE = Path(__file__).parents[3] / "docs" / "update-serial.md"
#: Limits for every release of gcc.
MAX_CODE_BYTES = {
    "protocol": 5_300,
    "forward error correction": 1_900,
    "device": 3_800,
    "installation": 3_700,
    "SHA-256": 1_300,
}


def test_hostile_frames() -> None:
    output = run(5_000, seed=3)
    counts = {name: int(count) for count, name in re.findall(r"(\d+) (answers|uploads|chunks|ends)", output)}
    assert (
        counts["answers"] > 2_000 and counts["uploads"] > 50 and counts["chunks"] > 50 and counts["ends"] > 5
    )


@pytest.mark.slow
def test_many_hostile_frames() -> None:
    run(200_000, seed=4)


@pytest.mark.parametrize("part", PARTS)
def test_sizes(part: str) -> None:
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    row = table_row(part)
    assert all(code_bytes(part, core) <= MAX_CODE_BYTES[part] for core in CORES)
    gcc = subprocess.run(
        ["arm-none-eabi-gcc", "-dumpversion"], check=True, capture_output=True, text=True
    ).stdout
    version = re.search(r"arm-none-eabi-gcc ([\d.]+)", PAGE.read_text("utf-8"))
    assert version is not None
    if version[1] == gcc.strip():
        assert row.rstrip("| ") in PAGE.read_text("utf-8"), row
