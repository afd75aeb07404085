"""Rollouts reach devices on serial ports through `arenite gateway`, with a real broker and a real server."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from arenite.firmware.update.layout import update_layout
from arenite.firmware.update.loader import build_loader
from arenite.host.emulator.flash_file import new_flash, start_updatable
from arenite.host.update.keys import generate_key, read_public_key
from arenite.host.update.signed_image import ImageProperties, sign_image
from arenite.host.update.update_build import UpdateOptions, build_update
from arenite.profiles.boards import load_board
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, library_or_skip
from tests.firmware.update.update_board import DeviceProcess, make_model
from tests.host.cli.conftest import Arenite, arenite
from tests.host.fleet.broker_helpers import needs_broker, until
from tests.host.fleet.conftest import port
from tests.host.gateway.plant import Plant
from tests.host.small_graphs import classifier, save
from tests.host.update.retrained_model import retrained
from tests.host.update.slot_board import SlotBoard

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = [needs_broker, pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)]
__all__ = ["arenite", "port"]


def test_rollouts_reach_a_device(tmp_path: Path, port: int, arenite: Arenite) -> None:
    plant = Plant(tmp_path, port, arenite, "qemu_microbit")
    fleet, roll_out = plant.fleet, plant.roll_out
    folder = tmp_path / "device"
    folder.mkdir()
    with DeviceProcess(folder) as device, plant.server():
        # The other device is not there, and holds nothing up.
        with plant.gateway(f"pump-1={device.port}", f"pump-2={tmp_path / 'none'}"):
            until(lambda: fleet("status")["releases"] == {"1.0.0": 1})
            arenite("update", "status", device.port).refused(3, "Another program uses the serial port")
            assert roll_out(1, "2.0.0", make_model("2.0.0"))["state"] == "done"
            listed = fleet("status", "--devices")["device_list"][0]
            assert (listed["device"], listed["board"], listed["release"], listed["online"]) == (
                *("pump-1", "qemu_microbit", "2.0.0"),
                True,
            )
            for number, release, image, reason in (
                (2, "3.0.0", make_model("3.0.0", abi=bytes(32)), "for another graph, arena or kernels"),
                (3, "4.0.0", make_model("4.0.0", first=b"R"), "failed their self-test with reason 200"),
                (4, "5.0.0", None, "No image for the release"),
            ):
                shown = roll_out(number, release, image)
                assert shown["state"] != "done" and reason in json.dumps(shown["audit"])
                assert ("golden" in shown["reason"]) == (number == 3)
            assert "none" in plant.log.read_text()
        until(lambda: fleet("status")["devices"]["online"] == 0)
        status = arenite("update", "status", device.port, "--json").json
        assert [i["version"] for i in status["images"] if i["slot"] == 0] == ["1.0.0", "2.0.0"]


@pytest.mark.slow
@pytest.mark.qemu
def test_a_retrained_model_reaches_an_emulated_device(tmp_path: Path, port: int, arenite: Arenite) -> None:
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    library_or_skip("ed25519")
    board, key = load_board("qemu_mps2_an386"), tmp_path / "release.pem"
    generate_key(key)
    old, new = (
        build_update(save(model, tmp_path / f"model{k}.tflite"), board, UpdateOptions(key, f"1.0.{k}", k))
        for k, model in enumerate((classifier(), retrained(classifier(), 4)), 1)
    )
    layout = update_layout(board)
    other = sign_image(
        bytes(100),
        ImageProperties(
            *("1.0.3", 3, board.name, "model", bytes(32)), layout.model_header_bytes, layout.model[0].origin
        ),
        key,
        layout.model[0].size,
    )
    loader, flash = build_loader(board, read_public_key(key), tmp_path / "loader"), tmp_path / "flash.bin"
    assert old.firmware is not None
    new_flash(board, flash, old.firmware, old.model)
    plant = Plant(tmp_path, port, arenite, board.name)
    with start_updatable(board, loader.elf, flash, icount=False) as emulator, plant.server():
        SlotBoard(emulator.machine.transport).read_until("self-test 3 samples passed")
        with plant.gateway(f"pump-1={emulator.machine.port}"):
            until(lambda: plant.fleet("status")["releases"] == {"1.0.1": 1})
            assert plant.roll_out(1, "1.0.2", new.model)["state"] == "done"
            refused = plant.roll_out(2, "1.0.3", other)
            assert refused["state"] != "done" and "for another graph" in json.dumps(refused["audit"])
        states = arenite("update", "status", emulator.machine.port, "--json").json["images"]
        assert [i["version"] for i in states if i["slot"] == 0] == ["1.0.1", "1.0.2"]


def test_mistakes_are_explained(arenite: Arenite, tmp_path: Path) -> None:
    words = ("gateway", "--broker", "localhost", "--fleet", "plant")
    for device in ("pump-1", "pump-1=usb:", "pump-1=mqtt://localhost/plant/pump-1"):
        arenite(*words, "--device", device).refused(2, "is not NAME=PORT")
    arenite(*words, "--device", "a b=/dev/x").refused(2, "not a name of a device")
    arenite(*words, "--device=a=/dev/x", "--images", tmp_path / "none").refused(2, "There is no folder")
    arenite(*words, "--device=a=/dev/x", "--device=b=/dev/x").refused(2, "repeats a device or a port")
