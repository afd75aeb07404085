"""`arenite update push` updates the model of an emulated board with a boot loader, and returns to the old one."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from arenite.firmware.update.loader import build_loader
from arenite.host.emulator.flash_file import new_flash, start_updatable
from arenite.host.fleet.reference_file import read_record
from arenite.host.update.keys import generate_key, read_public_key
from arenite.host.update.update_build import UpdateOptions, build_update
from arenite.profiles.boards import load_board
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, library_or_skip
from tests.host.cli.conftest import Arenite, arenite
from tests.host.small_graphs import classifier, save
from tests.host.update.retrained_model import retrained
from tests.host.update.slot_board import SlotBoard

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.qemu,
    pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL),
]
__all__ = ["arenite"]


@pytest.mark.parametrize("board_name", ["qemu_mps2_an386", "qemu_microbit"])
@pytest.mark.parametrize("option", ["--no-fec", "--fec"])
def test_a_model_is_pushed_and_rolled_back(
    arenite: Arenite, tmp_path: Path, board_name: str, option: str
) -> None:
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    library_or_skip("ed25519")
    board, key, image = load_board(board_name), tmp_path / "release.pem", tmp_path / "new.bin"
    generate_key(key)
    models = [
        save(model, tmp_path / f"model{k}.tflite")
        for k, model in enumerate((classifier(), retrained(classifier(), 4)), 1)
    ]
    # The device ignores the calibration record of the new model.
    np.savez(tmp_path / "x.npz", x=np.zeros((3, 12, 12, 3), np.int8))
    reference = tmp_path / "reference.json"
    made = arenite("fleet", "reference", models[1], "--inputs", tmp_path / "x.npz", "-o", reference)
    assert made.code == 0
    # Both have the same security counter, so the device may return to the old one.
    old, new = (
        build_update(model, board, UpdateOptions(key, f"1.0.{k}", 1, record=record))
        for k, (model, record) in enumerate(zip(models, (None, read_record(reference)), strict=True), 1)
    )
    image.write_bytes(new.model)
    program = build_loader(board, read_public_key(key), tmp_path / "loader")
    flash = tmp_path / "flash.bin"
    assert old.firmware is not None
    new_flash(board, flash, old.firmware, old.model)
    with start_updatable(board, program.elf, flash, icount=False) as emulator:
        port = emulator.machine.port
        SlotBoard(emulator.machine.transport).read_until("self-test 3 samples passed")
        pushed = arenite("update", "push", image, port, option, "--json").json
        assert pushed["outcome"] == "confirmed"
        assert pushed["used_forward_error_correction"] == (option == "--fec")
        back = arenite("update", "rollback", port, option, "--json").json
        assert back["outcome"] == "confirmed"
        assert [i["version"] for i in back["images"]] == ["1.0.1", "1.0.1", "1.0.2"]
