"""`arenite update push`, `status` and `rollback` with a device on a pseudo-terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from arenite.host.link.transport import SerialTransport
from arenite.host.update.keys import key_hash
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, public_key
from tests.firmware.update.update_board import DeviceProcess, make_model
from tests.host.cli.conftest import Arenite

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)


@pytest.fixture
def device(tmp_path: Path) -> Iterator[DeviceProcess]:
    with DeviceProcess(tmp_path) as device:
        yield device


def test_push_status_and_rollback(arenite: Arenite, device: DeviceProcess, tmp_path: Path) -> None:
    image = tmp_path / "new.bin"
    image.write_bytes(make_model("2.0.0"))
    text = arenite("update", "status", device.port).out
    assert "qemu_microbit" in text and "slot 0: 1.0.0, in use" in text and "has had no update" in text
    pushed = arenite("update", "push", image, device.port)
    assert pushed.code == 0 and "confirmed them" in pushed.out and "model 2.0.0 runs" in pushed.out
    back = arenite("update", "rollback", device.port, "--fec", "--json")
    assert back.code == 0 and back.json["outcome"] == "confirmed" and back.json["files"] == []

    again = arenite("update", "push", image, device.port, "--json").json

    assert again["files"][0]["sent"] and again["files"][0]["version"] == "2.0.0"
    status = arenite("update", "status", device.port, "--json").json

    assert status["key"] == key_hash(public_key()).hex() and f"key: {status['key'][:16]}" in text
    assert [(i["kind"], i["slot"], i["version"]) for i in status["images"]] == [
        ("firmware", 0, "1.0.0"),
        ("model", 0, "2.0.0"),
        ("model", 1, "1.0.0"),
    ]


def test_two_programs_do_not_use_one_port(arenite: Arenite, device: DeviceProcess) -> None:
    with SerialTransport(device.port, is_exclusive=True):
        arenite("update", "status", device.port).refused(
            3, f"Another program uses the serial port {device.port}"
        )
    assert arenite("update", "status", device.port).code == 0


def test_refusals_and_mistakes_have_their_exit_codes(
    arenite: Arenite, device: DeviceProcess, tmp_path: Path
) -> None:
    image = tmp_path / "new.bin"
    image.write_bytes(make_model("2.0.0", board="nrf52840_dk"))
    arenite("update", "push", image, device.port).refused(1, "made for the board nrf52840_dk")
    image.write_bytes(make_model("2.0.0", foreign=True))
    arenite("update", "push", image, device.port).refused(1, "signed with the key", "update verify")
    image.write_bytes(make_model("3.0.0", first=b"R"))
    returned = arenite("update", "push", image, device.port)
    assert returned.code == 1 and "returned to the old ones" in returned.out and "reason 200" in returned.out
    arenite("update", "rollback", device.port).refused(1, "no confirmed update")
    image.write_bytes(b"no image")
    arenite("update", "push", image, device.port).refused(2, "not an update image")
    arenite("update", "push", tmp_path / "none.bin", device.port).refused(2, "none.bin")
    assert arenite("update", "push", image, image, image, device.port).code == 2
    arenite("update", "status", tmp_path / "no-port").refused(3, "no serial port")
