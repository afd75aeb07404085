"""Rollouts reach devices on serial ports through `arenite gateway`, with a real broker and a real server."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from arenite.host.cli.main import main
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.firmware.update.update_board import DeviceProcess, make_model
from tests.host.cli.conftest import Arenite, arenite
from tests.host.fleet.broker_helpers import WAIT_S, needs_broker, until
from tests.host.fleet.conftest import port

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


def test_rollouts_reach_a_device(tmp_path: Path, port: int, arenite: Arenite) -> None:
    url, broker = f"sqlite:{tmp_path / 'fleet.db'}", f"127.0.0.1:{port}"
    images, folder = tmp_path / "images", tmp_path / "device"
    images.mkdir()
    folder.mkdir()

    def fleet(*words: str) -> Any:
        return arenite("fleet", *words, "--database", url, "--json").json

    def roll_out(number: int, release: str, image: bytes | None) -> Any:
        data = image or b"nobody has it"
        if image is not None:
            (images / f"{release}.bin").write_bytes(image)
        entry = {"board": "qemu_microbit", "image": hashlib.sha256(data).hexdigest()}
        file = tmp_path / f"{release}.json"
        file.write_text(json.dumps({"schema": "arenite.release/1", "release": release, "images": [entry]}))
        assert main(["fleet", "rollout", "add", str(file), "--database", url]) == 0
        settings = ["--set=soak_s=1", "--set=min_inferences=0", "--set=min_heartbeats=1"]
        fleet("rollout", "start", release, *settings)
        until(lambda: fleet("rollout", "show", str(number))["state"] not in ("running", "rolling_back"))
        return fleet("rollout", "show", str(number))

    serve = ("fleet", "serve", "--database", url, "--broker", broker, "--fleet", "plant")
    with DeviceProcess(folder) as device, program(tmp_path / "server.log", *serve):
        until(lambda: b"Serving" in (tmp_path / "server.log").read_bytes())
        words = ("gateway", "--broker", broker, "--fleet", "plant", "--heartbeat", "1")
        paths = ("--images", str(images), "--state", str(tmp_path / "state"))
        # The other device is not there, and holds nothing up.
        devices = (f"--device=pump-1={device.port}", f"--device=pump-2={tmp_path / 'none'}")
        with program(tmp_path / "gateway.log", *words, *paths, *devices):
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
            assert "none" in (tmp_path / "gateway.log").read_text()
        until(lambda: fleet("status")["devices"]["online"] == 0)
        status = arenite("update", "status", device.port, "--json").json
        assert [i["version"] for i in status["images"] if i["slot"] == 0] == ["1.0.0", "2.0.0"]


def test_mistakes_are_explained(arenite: Arenite, tmp_path: Path) -> None:
    words = ("gateway", "--broker", "localhost", "--fleet", "plant")
    arenite(*words, "--device", "pump-1").refused(2, "is not NAME=PORT")
    arenite(*words, "--device", "a b=/dev/x").refused(2, "not a name of a device")
    arenite(*words, "--device=a=/dev/x", "--device=b=/dev/x").refused(2, "repeats a device or a port")
