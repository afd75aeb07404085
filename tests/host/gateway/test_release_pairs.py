"""Releases whose firmware and model change together reach devices through `arenite gateway`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arenite.host.update.image_file import read_image
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.firmware.update.update_board import DeviceProcess, make_firmware, make_model
from tests.host.cli.conftest import Arenite, arenite
from tests.host.fleet.broker_helpers import needs_broker, until
from tests.host.fleet.conftest import port
from tests.host.fleet.security.secure_broker import Client
from tests.host.gateway.board_port import BoardPort
from tests.host.gateway.plant import Plant, hash_of
from tests.host.gateway.smp_plant import Program, SmpPlant

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = [needs_broker, pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)]
__all__ = ["arenite", "port"]
ABIS = [bytes([number]) * 32 for number in range(4)]


def versions(arenite: Arenite, port: str) -> list[str]:
    """Return the versions of firmware and model in use."""
    status = arenite("update", "status", port, "--json").json
    return [image["version"] for image in status["images"] if image["slot"] == 0]


@pytest.mark.slow
def test_firmware_and_model_of_a_release_change_together(tmp_path: Path, port: int, arenite: Arenite) -> None:
    plant = Plant(tmp_path, port, arenite, "qemu_microbit")
    folder = tmp_path / "device"
    folder.mkdir()

    def release() -> str:
        return str(plant.fleet("status", "--devices")["device_list"][0]["release"])

    with DeviceProcess(folder) as device, plant.server():
        with plant.gateway(f"pump-1={device.port}"):
            until(lambda: plant.fleet("status")["releases"] == {"1.0.0": 1})
            # The registry and the folder of images have nothing of 1.0.0, to which the device returns.
            plant.add_pair("2.0.0", make_firmware("2.0.0", abi=ABIS[2]), make_model("2.0.0", abi=ABIS[2]))
            plant.start("2.0.0", soak_s=3600)
            until(lambda: release() == "2.0.0")
            assert json.loads((tmp_path / "state/pump-1/gateway.json").read_text()) == {
                "release": "2.0.0",
                "firmware": read_image(tmp_path / "images/2.0.0.firmware.bin").hash.hex(),
                "model": read_image(tmp_path / "images/2.0.0.model.bin").hash.hex(),
            }
            assert arenite("fleet", "rollout", "abort", 1, "--database", plant.url).code == 0
            until(lambda: plant.fleet("rollout", "show", "1")["state"] == "rolled_back")
            assert plant.fleet("rollout", "show", "1")["devices"] == {"returned": 1}
            assert release() == "1.0.0"
        assert versions(arenite, device.port) == ["1.0.0", "1.0.0"]
        with plant.gateway(f"pump-1={device.port}"):
            assert plant.finish(2, "2.0.0")["state"] == "done"
            for number, name, firmware, model, reason in (
                (3, "3.0.0", ABIS[0], ABIS[3], "belong to different graphs"),
                (4, "4.0.0", ABIS[3], ABIS[3], "failed their self-test with reason 200"),
            ):
                bad = make_model(name, abi=model, first=b"R")
                plant.add_pair(name, make_firmware(name, abi=firmware), bad)
                shown = plant.finish(number, name)
                assert shown["state"] != "done" and reason in json.dumps(shown["audit"])
                assert release() == "2.0.0"
            # The older release is one image, and the firmware that it needs is known from the device only.
            plant.add("2.1.0", make_model("2.1.0", abi=ABIS[2]))
            assert plant.finish(5, "2.1.0")["state"] == "done"
            plant.add_pair("5.0.0", make_firmware("5.0.0", abi=ABIS[0]), make_model("5.0.0", abi=ABIS[0]))
            plant.start("5.0.0", soak_s=3600)
            until(lambda: release() == "5.0.0")
            assert arenite("fleet", "rollout", "abort", 6, "--database", plant.url).code == 0
            until(lambda: plant.fleet("rollout", "show", "6")["state"] == "rolled_back")
            assert release() == "2.1.0"
        assert versions(arenite, device.port) == ["2.0.0", "2.1.0"]


def wish(plant: SmpPlant, images: dict[str, Path]) -> None:
    """Tell the device to run a release with these images, as a server does."""
    client = Client(f"127.0.0.1:{plant.port}")
    hashes = {kind: hash_of(path.read_bytes()) for kind, path in images.items()}
    message = {"schema": "arenite.desired/1", "generation": 1, "release": "2.0.0", "image": "0" * 64}
    client.publish("arenite/plant/pump-1/desired", json.dumps(message | hashes).encode())
    client.close()


@pytest.fixture
def images(tmp_path: Path) -> dict[str, Path]:
    folder = tmp_path / "images"
    folder.mkdir()
    paths = {kind: folder / f"{kind}.bin" for kind in ("firmware", "model")}
    paths["firmware"].write_bytes(make_firmware("2.0.0", payload_bytes=12_000, abi=ABIS[2]))
    paths["model"].write_bytes(make_model("2.0.0", payload_bytes=24_000, abi=ABIS[2]))
    return paths


def test_a_release_with_another_key_is_refused_before_it_is_sent(
    tmp_path: Path, images: dict[str, Path]
) -> None:
    images["model"].write_bytes(make_model("2.0.0", payload_bytes=24_000, abi=ABIS[2], foreign=True))
    with SmpPlant(tmp_path) as plant, BoardPort(tmp_path) as device:
        before = [device.slot(pair, 1) for pair in range(2)]
        with plant.gateway(device.path, "--images", tmp_path / "images") as gateway:
            until(lambda: gateway.has_said("answers"))
            wish(plant, images)
            until(lambda: gateway.has_said("the release refused"))
            assert gateway.has_said("the device trusts only the key")
        assert [device.slot(pair, 1) for pair in range(2)] == before


def test_a_pair_survives_a_killed_gateway_and_a_pulled_cable(tmp_path: Path, images: dict[str, Path]) -> None:
    def gateway() -> Program:
        return plant.gateway(device.path, "--images", tmp_path / "images")

    with SmpPlant(tmp_path) as plant, BoardPort(tmp_path) as device:
        with gateway() as first:
            until(lambda: first.has_said("answers"))
            wish(plant, images)
            until(lambda: device.received_bytes > 22_000)  # in the model
        received = device.received_bytes
        with gateway() as second:
            until(lambda: device.received_bytes > received + 4000)
            device.pull()
            until(lambda: not device.path.exists())
            device.connect()
            until(lambda: second.has_said("the release installed"))
            second.stop()
        for pair, kind in enumerate(("firmware", "model")):
            data = images[kind].read_bytes()
            assert device.slot(pair, 0)[: len(data)] == data
        assert device.board.resets == 1
        # In base64, 36,000 bytes are 48,000. What the device had is not sent again.
        print("received", received, device.received_bytes)
        assert device.received_bytes < 80_000
