"""The mark pin is high during an inference, as QEMU's log shows."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.firmware.generator.features import DEFAULT_PIN, Features
from arenite.firmware.generator.project import write_project
from arenite.host.emulator import mark_pin
from arenite.host.emulator.machine import start
from arenite.host.flash.build import direct_build
from arenite.host.link.client import DeviceClient
from arenite.profiles.boards import load_board
from tests import toy_model
from tests.session_builds import ToyFirmware

pytestmark = pytest.mark.qemu
#: C code in the toy model that takes long enough for the log.
SPIN = "for (volatile int i = 0; i < 20000; i++) {\n    }"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "pin"),
    [
        ("qemu_mps2_an386", None),
        ("qemu_mps2_an385", 1),
        ("qemu_mps2_an505", None),
        ("qemu_mps3_an547", None),
        ("qemu_microbit", None),
        ("qemu_microbit", 7),
        ("qemu_netduinoplus2", None),
        ("qemu_netduinoplus2", 35),
    ],
)
def test_the_pin_is_high_during_an_inference(name: str, pin: int | None, tmp_path: Path) -> None:
    board, log = load_board(name), tmp_path / "log"
    features = Features(mark=DEFAULT_PIN if pin is None else str(pin))
    project = write_project(tmp_path / "p", toy_model.sources(SPIN), [], board, features=features)
    ticks_spent = []
    with start(board, direct_build(project), extra=mark_pin.arguments(board, log)) as machine:
        device = DeviceClient(machine.transport)
        device.connect(toy_model.HASH)
        for k in range(3):
            device.write_input(0, bytes([k] * 8))
            ticks_spent.append(device.infer().total)
    edges = list(mark_pin.read_marks(board, log, pin))
    assert [e.on for e in edges] == [True, False] * 3
    if name == "qemu_netduinoplus2":
        assert all(e.virtual_s is None for e in edges)
        return
    times = [e.virtual_s or 0.0 for e in edges]
    walls = [e.wall_s or 0.0 for e in edges]
    assert times == sorted(times) and walls == sorted(walls)
    high_s = [b - a for a, b in list(pairwise(times))[::2]]
    from arenite.firmware.boards.families import family_named

    assert board.emulator is not None
    hertz = family_named(board.emulator.family).ticks_per_us * 1e6
    # The pin is high for the ticks of the layers and a few before the first layer.
    assert high_s == pytest.approx([ticks / hertz for ticks in ticks_spent], rel=0.01)


def test_without_a_mark_no_pin_changes(toy_firmware: ToyFirmware, tmp_path: Path) -> None:
    board, log = load_board("qemu_mps2_an386"), tmp_path / "log"
    with start(board, toy_firmware(board.name), extra=mark_pin.arguments(board, log)) as machine:
        device = DeviceClient(machine.transport)
        device.connect(toy_model.HASH)
        device.infer()
    assert list(mark_pin.read_marks(board, log)) == []


@pytest.mark.parametrize(
    ("name", "pin", "message"),
    [
        ("qemu_riscv32", DEFAULT_PIN, "has no pin"),
        ("qemu_xtensa_lx106", "1", "has no pin"),
        ("qemu_mps2_an386", "2", "no pin '2'"),
        ("qemu_microbit", "24", "no pin '24'"),
        ("qemu_mps2_an386", "LED", "no pin 'LED'"),
        ("nucleo_l4r5zi", DEFAULT_PIN, "nucleo_l4r5zi has no default pin for the mark"),
        ("nucleo_l4r5zi", "5; system()", "is not a pin"),
    ],
)
def test_an_invalid_pin_raises_an_error(name: str, pin: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        write_project(tmp_path / "p", toy_model.sources(), [], load_board(name), features=Features(mark=pin))
    assert not (tmp_path / "p").exists()
    if name in ("qemu_riscv32", "qemu_xtensa_lx106"):
        with pytest.raises(UsageError, match="cannot be observed"):
            mark_pin.arguments(load_board(name), tmp_path / "log")


def test_a_real_board_uses_the_pin_name_of_its_core(tmp_path: Path) -> None:
    board = load_board("nucleo_l4r5zi")
    write_project(tmp_path / "p", toy_model.sources(), [], board, features=Features(mark="PA5"))
    assert "#define ARENITE_MARK_PIN PA5" in (tmp_path / "p/lib/agent/firmware_features.h").read_text()
