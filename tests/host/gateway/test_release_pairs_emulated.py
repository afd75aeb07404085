"""A release with another graph, whose firmware and model change together, reaches an emulated board and returns."""

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
from tests.host.fleet.conftest import port
from tests.host.gateway.plant import Plant
from tests.host.small_graphs import classifier, save
from tests.host.update.retrained_model import without_activation
from tests.host.update.slot_board import SlotBoard

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.qemu,
    needs_broker,
    pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL),
]
__all__ = ["arenite", "port"]


def test_another_graph_reaches_an_emulated_device_and_returns(
    tmp_path: Path, port: int, arenite: Arenite
) -> None:
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    library_or_skip("ed25519")
    board, key = load_board("qemu_mps2_an386"), tmp_path / "release.pem"
    generate_key(key)
    # Both have the same security counter, so the device may return to the old ones.
    old, new = (
        build_update(save(model, tmp_path / f"model{k}.tflite"), board, UpdateOptions(key, f"1.0.{k}", 1))
        for k, model in enumerate((classifier(), without_activation(classifier())), 1)
    )
    assert old.firmware is not None and new.firmware is not None
    loader, flash = build_loader(board, read_public_key(key), tmp_path / "loader"), tmp_path / "flash.bin"
    new_flash(board, flash, old.firmware, old.model)
    layout = update_layout(board)
    plant = Plant(tmp_path, port, arenite, board.name)
    with start_updatable(board, loader.elf, flash, icount=False) as emulator, plant.server():
        SlotBoard(emulator.machine.transport).read_until("self-test 3 samples passed")

        def runs(firmware: bytes, model: bytes) -> bool:
            slots = ((layout.firmware[0], firmware), (layout.model[0], model))
            return all(emulator.read(area)[: len(image)] == image for area, image in slots)

        with plant.gateway(f"pump-1={emulator.machine.port}"):
            until(lambda: plant.fleet("status")["releases"] == {"1.0.1": 1})
            plant.add("1.0.3", new.model)
            assert plant.finish(1, "1.0.3")["state"] != "done"  # the model alone does not fit
            plant.add_pair("1.0.2", new.firmware, new.model)
            plant.start("1.0.2", soak_s=3600)
            until(lambda: plant.fleet("status")["releases"] == {"1.0.2": 1})
            assert runs(new.firmware, new.model)
            assert arenite("fleet", "rollout", "abort", 2, "--database", plant.url).code == 0
            until(lambda: plant.fleet("rollout", "show", "2")["state"] == "rolled_back")
            assert runs(old.firmware, old.model)
            assert plant.fleet("status")["releases"] == {"1.0.1": 1}
