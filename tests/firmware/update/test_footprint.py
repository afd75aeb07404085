"""The check of an image runs on emulated cores within the flash and RAM that docs/update-images.md promises."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.firmware.update.footprint import MACHINES, measure
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL

PAGE = Path(__file__).parents[3] / "docs" / "update-images.md"
#: Other releases of gcc make code of other sizes. The page gives the figures of one of them.
TOLERANCE = 0.05


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc")
@pytest.mark.parametrize("core", MACHINES)
def test_the_check_runs_on_the_core_with_the_figures_of_the_page(core: str) -> None:
    footprint = measure(core)
    assert footprint.result == 0
    name = core.replace("cortex-m", "Cortex-M")
    row = re.search(rf"^\| {name} \| ([\d,]+) \| ([\d,]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert row is not None
    code_bytes, stack_bytes = (int(cell.replace(",", "")) for cell in row.groups())
    assert footprint.code_bytes == pytest.approx(code_bytes, rel=TOLERANCE)
    assert footprint.stack_bytes == pytest.approx(stack_bytes, rel=TOLERANCE)
    assert footprint.stack_bytes <= 2048
