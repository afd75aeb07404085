"""Build and run a generated project: the firmware answers over a real serial port."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.firmware.generator.project import write_project
from arenite.host.emulator.machine import start
from arenite.host.flash.build import build, direct_build
from arenite.host.link.client import DeviceClient
from arenite.profiles.boards import all_boards, load_board
from tests import toy_model

EMULATED = [board.name for board in all_boards() if board.emulated and board.rtl is None]
SAMPLES = [bytes(range(8)), bytes(range(250, 256)) + b"\0\0", bytes(8), b"\xff" * 8]


@pytest.mark.qemu
@pytest.mark.parametrize("name", EMULATED)
@pytest.mark.parametrize("fresh", [True, False])
def test_the_board_computes_the_model(name: str, fresh: bool, tmp_path: Path) -> None:
    board = load_board(name)
    write_project(tmp_path / "project", toy_model.sources(), [], board)
    with start(board, direct_build(tmp_path / "project")) as machine:
        device = DeviceClient(machine.transport)
        info = device.connect(toy_model.HASH)
        assert (info.model, info.board, info.layer_count) == ("toy", name, toy_model.LAYERS)
        outputs = []
        for sample in SAMPLES:
            device.write_input(0, sample)
            ticks = device.infer(fresh=fresh)
            outputs.append(device.read_output(0, 8))
            assert sum(device.layer_ticks(info.layer_count)) == ticks.total > 0
        assert outputs == toy_model.expected(SAMPLES, fresh)
        memory = device.memory()
        assert memory.guards_damaged == 0
        assert 0 < memory.stack_used < memory.stack_bytes
        assert memory.started_by == "power-on"


@pytest.mark.slow
@pytest.mark.qemu
def test_platformio_builds_the_same_bytes_offline(tmp_path: Path) -> None:
    board = load_board("qemu_mps2_an386")
    write_project(tmp_path / "project", toy_model.sources(), [], board)
    assert build(tmp_path / "project").read_bytes() == direct_build(tmp_path / "project").read_bytes()
