"""`arenite update push` updates the model of an emulated board with a boot loader, and returns to the old one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from arenite.host.update.keys import generate_key, read_public_key
from arenite.profiles.boards import load_board
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, library_or_skip
from tests.host.cli.conftest import Arenite, arenite
from tests.host.small_graphs import classifier, save

WITHOUT_BUILD = "needs the boot loader and the build of updatable programs"
pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
flash_file = pytest.importorskip("arenite.host.emulator.flash_file", reason=WITHOUT_BUILD)
loader = pytest.importorskip("arenite.firmware.update.loader", reason=WITHOUT_BUILD)
update_build = pytest.importorskip("arenite.host.update.update_build", reason=WITHOUT_BUILD)
retrained_model = pytest.importorskip("tests.host.update.retrained_model", reason=WITHOUT_BUILD)
slot_board = pytest.importorskip("tests.host.update.slot_board", reason=WITHOUT_BUILD)
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
    # Both have the same security counter, so the device may return to the old one.
    old, new = (
        update_build.build_update(
            save(model, tmp_path / f"model{k}.tflite"), board, update_build.UpdateOptions(key, f"1.0.{k}", 1)
        )
        for k, model in enumerate((classifier(), retrained_model.retrained(classifier(), 4)), 1)
    )
    image.write_bytes(new.model)
    program = loader.build_loader(board, read_public_key(key), tmp_path / "loader")
    flash = tmp_path / "flash.bin"
    flash_file.new_flash(board, flash, old.firmware, old.model)
    with flash_file.start_updatable(board, program.elf, flash, icount=False) as emulator:
        port = emulator.machine.port
        slot_board.SlotBoard(emulator.machine.transport).read_until("self-test 3 samples passed")
        pushed = arenite("update", "push", image, port, option, "--json").json
        assert pushed["outcome"] == "confirmed"
        assert pushed["used_forward_error_correction"] == (option == "--fec")
        back = arenite("update", "rollback", port, option, "--json").json
        assert back["outcome"] == "confirmed"
        assert [i["version"] for i in back["images"]] == ["1.0.1", "1.0.1", "1.0.2"]
