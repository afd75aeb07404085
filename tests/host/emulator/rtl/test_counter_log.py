"""The cycles of layers are read from the log of a simulation."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import ToolError
from arenite.host.emulator.layer_code import LayerCode
from arenite.host.emulator.rtl.counter_log import (
    LayerCycles,
    executed_instructions,
    layer_cycles,
    layer_order,
)


def write_log(folder: Path, text: str) -> Path:
    path = folder / "simulation.log"
    path.write_text(text)
    return path


def code(*orders: tuple[int, ...]) -> LayerCode:
    return LayerCode((), orders, (), None, 3)


def test_the_end_of_a_segment_belongs_to_its_first_layer() -> None:
    assert layer_order(code((0,), (1, 1, 2, 1, 2), (2,))) == (0, 1, 1, 2, 1, 2, 1, 2)


def test_each_layer_gets_the_cycles_between_the_reads_around_it(tmp_path: Path) -> None:
    # Two inferences: requested, before the first layer, after layers 0, 1 and 0 again.
    log = write_log(
        tmp_path,
        "P 0 0\nR 90 80\nR 100 88\nR 150 130\nP 151 131\nR 175 150\nR 180 154\n"
        "R 300 4294967290\nR 310 4294967295\nR 330 14\nR 340 20\nR 350 21\n",
    )
    assert layer_cycles(log, (0, 1, 0), 2) == [
        LayerCycles((50 + 5, 25), (42 + 4, 20)),
        LayerCycles((20 + 10, 10), (15 + 1, 6)),  # the counter of instructions wraps at 32 bits
    ]


def test_the_executed_instructions_are_those_of_the_layers_until_now(tmp_path: Path) -> None:
    log = write_log(tmp_path, "P 0 0\nR 90 80\nP 95 85\nR 100 88\nR 150 130\nP 160 137\nP 1")
    assert executed_instructions(log, (0, 1)) == 137 - 88
    log.write_text("P 0 0\nR 90 80\nR 100 88\nR 150 130\nR 170 150\nP 900 800\n")
    assert executed_instructions(log, (0, 1)) == 150 - 88


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("R 1 1\nR 2 2\nR 3 3\n", "3 reads of the counter, expected a multiple of 4"),
        ("", "0 reads of the counter"),
        ("R one two\n", "no readable log"),
        ("R 1\n", "no readable log"),
    ],
)
def test_an_incomplete_log_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        layer_cycles(write_log(tmp_path, text), (0, 1), 2)
