"""The rule of thumb for cycles of each core is the mean of the estimates that docs/performance.md lists."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import mean

import pytest

from arenite.firmware.boards.cores import cpi_of
from arenite.profiles.board import Board
from arenite.profiles.boards import all_boards

PAGE = Path(__file__).parents[3] / "docs" / "performance.md"
#: Boards whose section has not all six networks, or is for another core too.
LEFT_OUT = ("qemu_microbit", "qemu_riscv32_smp2")


def means() -> dict[str, float]:
    """Return the mean of the cycles per instruction of each board with a section, by the title of the board."""
    result = {}
    for section in PAGE.read_text("utf-8").split("\n**Emulated ")[1:]:
        title, _, rest = section.partition("**")
        values = [float(v) for v in re.findall(r"\(([\d.]+) each\)", rest.partition("\n**")[0])]
        if values:
            result[f"Emulated {title}"] = mean(values)
    return result


@pytest.mark.parametrize(
    "board",
    [b for b in all_boards() if b.emulated and b.rtl is None and b.name not in LEFT_OUT],
    ids=lambda b: b.name,
)
def test_cycles_per_instruction_are_those_of_the_performance_page(board: Board) -> None:
    assert cpi_of(board.core) == pytest.approx(means()[board.title], rel=0.04)
