"""The counter of every emulated board counts instructions: a loop of known length is measured exactly."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.firmware.generator.project import write_project
from arenite.host.emulator.machine import start
from arenite.host.flash.build import direct_build
from arenite.host.link.client import DeviceClient
from arenite.profiles.boards import all_boards, load_board
from tests import toy_model
from tests.host.emulator.counting_layer import UNIT, counting_layer

pytestmark = pytest.mark.slow

EMULATED = [board.name for board in all_boards() if board.emulated and board.rtl is None]


@pytest.mark.qemu
@pytest.mark.parametrize("name", EMULATED)
def test_a_hundred_million_instructions_are_counted_exactly(name: str, tmp_path: Path) -> None:
    board = load_board(name)
    write_project(tmp_path / "project", toy_model.sources(counting_layer(board)), [], board)
    assert board.emulator is not None
    numerator, denominator = board.emulator.ticks_numerator, board.emulator.ticks_denominator
    with start(board, direct_build(tmp_path / "project")) as machine:
        device = DeviceClient(machine.transport)
        device.connect(toy_model.HASH)
        ticks = []
        for turns in (1, 126):
            device.write_input(0, bytes([turns] * 8))
            run = device.infer()
            assert device.layer_ticks(3)[2] <= run.total
            ticks.append(device.layer_ticks(3)[2])
    counted = (ticks[1] - ticks[0]) * denominator / numerator
    # The inputs 1 and 126 differ by 125 units of the loop, which has two instructions per iteration.
    assert abs(counted - 2 * 125 * UNIT) <= 1
