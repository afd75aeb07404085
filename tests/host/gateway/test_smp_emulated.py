"""A retrained model reaches an emulated board with a boot loader through the broker, byte by byte, and returns."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from arenite.firmware.update.layout import update_layout
from arenite.firmware.update.loader import build_loader
from arenite.host.emulator.flash_file import new_flash, start_updatable
from arenite.host.update.keys import generate_key, read_public_key
from arenite.host.update.update_build import UpdateOptions, build_update
from arenite.profiles.boards import load_board
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, library_or_skip
from tests.host.cli.conftest import Arenite, arenite
from tests.host.fleet.broker_helpers import needs_broker, until
from tests.host.gateway.smp_plant import SmpPlant
from tests.host.small_graphs import classifier, save
from tests.host.update.retrained_model import retrained
from tests.host.update.slot_board import SlotBoard

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.qemu,
    needs_broker,
    pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL),
]
__all__ = ["arenite"]


def test_a_model_is_pushed_to_an_emulated_board_through_the_broker(arenite: Arenite, tmp_path: Path) -> None:
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    library_or_skip("ed25519")
    board, key, image = load_board("qemu_mps2_an386"), tmp_path / "release.pem", tmp_path / "new.bin"
    generate_key(key)
    # Both have the same security counter, so the device may return to the old one.
    old, new = (
        build_update(save(model, tmp_path / f"model{k}.tflite"), board, UpdateOptions(key, f"1.0.{k}", 1))
        for k, model in enumerate((classifier(), retrained(classifier(), 4)), 1)
    )
    image.write_bytes(new.model)
    loader, flash = build_loader(board, read_public_key(key), tmp_path / "loader"), tmp_path / "flash.bin"
    assert old.firmware is not None
    new_flash(board, flash, old.firmware, old.model)
    slots = update_layout(board).model
    with start_updatable(board, loader.elf, flash, icount=False) as emulator, SmpPlant(tmp_path) as plant:
        SlotBoard(emulator.machine.transport).read_until("self-test 3 samples passed")
        with plant.gateway(emulator.machine.port, "--smp") as gateway:
            until(lambda: gateway.has_said("answers"))
            pushed = arenite("update", "push", image, plant.url, "--json").json
            assert (pushed["outcome"], pushed["board"]) == ("confirmed", board.name)
            assert emulator.read(slots[0])[: len(new.model)] == new.model
            assert emulator.read(slots[1])[: len(old.model)] == old.model
            back = arenite("update", "rollback", plant.url, "--json").json
            assert back["outcome"] == "confirmed"
            assert emulator.read(slots[0])[: len(old.model)] == old.model
            gateway.stop()
