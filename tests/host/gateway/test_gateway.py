"""Rollouts reach devices on serial ports through `arenite gateway`, with a real broker and a real server."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from arenite.firmware.update.layout import update_layout
from arenite.firmware.update.loader import build_loader
from arenite.host.cli.main import main
from arenite.host.emulator.flash_file import new_flash, start_updatable
from arenite.host.update.keys import generate_key, read_public_key
from arenite.host.update.signed_image import ImageProperties, sign_image
from arenite.host.update.update_build import UpdateOptions, build_update
from arenite.profiles.boards import load_board
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, library_or_skip
from tests.firmware.update.update_board import DeviceProcess, make_model
from tests.host.cli.conftest import Arenite, arenite
from tests.host.fleet.broker_helpers import WAIT_S, needs_broker, until
from tests.host.fleet.conftest import port
from tests.host.small_graphs import classifier, save
from tests.host.update.retrained_model import retrained
from tests.host.update.slot_board import SlotBoard

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = [needs_broker, pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)]
__all__ = ["arenite", "port"]


@contextmanager
def program(log: Path, *arguments: str) -> Iterator[None]:
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "arenite.host.cli.main", *arguments], stdout=stream, stderr=stream
        )
    try:
        yield
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 0
    finally:
        process.kill()
        process.wait()
        print(log.read_text())


class Plant:
    """A fleet with a server, and a gateway to its devices, which have the board ``board``."""

    def __init__(self, folder: Path, port: int, arenite: Arenite, board: str) -> None:
        self._folder, self._arenite, self._board = folder, arenite, board
        self.url, self._broker = f"sqlite:{folder / 'fleet.db'}", f"127.0.0.1:{port}"
        self.log = folder / "gateway.log"
        (folder / "images").mkdir(exist_ok=True)

    def fleet(self, *words: str) -> Any:
        return self._arenite("fleet", *words, "--database", self.url, "--json").json

    def roll_out(self, number: int, release: str, image: bytes | None) -> Any:
        """Roll a release out. Return what became of the rollout."""
        self.add(release, image)
        settings = ["--set=soak_s=1", "--set=min_inferences=0", "--set=min_heartbeats=1"]
        self.fleet("rollout", "start", release, *settings)
        show = ("rollout", "show", str(number))
        until(lambda: self.fleet(*show)["state"] not in ("running", "rolling_back"))
        return self.fleet(*show)

    def add(self, release: str, image: bytes | None, **fields: str) -> None:
        """Add a release. ``fields`` are further ones of its image."""
        data = image or b"nobody has it"
        if image is not None:
            (self._folder / "images" / f"{release}.bin").write_bytes(image)
        entry = {"board": self._board, "image": hashlib.sha256(data).hexdigest(), **fields}
        file = self._folder / f"{release}.json"
        file.write_text(json.dumps({"schema": "arenite.release/1", "release": release, "images": [entry]}))
        assert main(["fleet", "rollout", "add", str(file), "--database", self.url]) == 0

    @contextmanager
    def server(self) -> Iterator[None]:
        log = self._folder / "server.log"
        words = ("fleet", "serve", "--database", self.url, "--broker", self._broker, "--fleet", "plant")
        with program(log, *words):
            until(lambda: b"Serving" in log.read_bytes())
            yield

    @contextmanager
    def gateway(self, *devices: str) -> Iterator[None]:
        words = ("gateway", "--broker", self._broker, "--fleet", "plant", "--heartbeat", "1")
        paths = ("--images", str(self._folder / "images"), "--state", str(self._folder / "state"))
        with program(self.log, *words, *paths, *(f"--device={device}" for device in devices)):
            yield


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
    arenite(*words, "--device", "pump-1").refused(2, "is not NAME=PORT")
    arenite(*words, "--device", "a b=/dev/x").refused(2, "not a name of a device")
    arenite(*words, "--device=a=/dev/x", "--images", tmp_path / "none").refused(2, "There is no folder")
    arenite(*words, "--device=a=/dev/x", "--device=b=/dev/x").refused(2, "repeats a device or a port")
