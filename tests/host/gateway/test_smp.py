"""`arenite update push`, `status` and `rollback` through `arenite gateway --smp`, with a real broker and the device's C
code on a pseudo-terminal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from arenite.host.gateway.smp_messages import SmpRequest, encode_smp_request
from arenite.host.update.smp_message import GROUP_OS, WRITE, decode_answer, encode_request
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.firmware.update.update_board import make_model
from tests.host.cli.conftest import Arenite, arenite
from tests.host.fleet.broker_helpers import needs_broker, until
from tests.host.fleet.security.secure_broker import Client
from tests.host.gateway.board_port import BoardPort
from tests.host.gateway.smp_plant import RawOperator, SmpPlant

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = [needs_broker, pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)]
__all__ = ["arenite"]
#: About four seconds on the line.
LONG = make_model("2.0.0", payload_bytes=30_000)
ECHO = encode_request(WRITE, GROUP_OS, 0, 1, {"d": "hello"})
RESET = encode_request(WRITE, GROUP_OS, 5, 2, {})


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[SmpPlant]:
    with SmpPlant(tmp_path) as plant:
        yield plant


@pytest.fixture
def device(tmp_path: Path) -> Iterator[BoardPort]:
    with BoardPort(tmp_path) as device:
        yield device


@pytest.fixture
def image(tmp_path: Path) -> Path:
    (tmp_path / "model.bin").write_bytes(LONG)
    return tmp_path / "model.bin"


def is_in_slot(device: BoardPort, data: bytes, slot: int = 0) -> bool:
    """Return whether the slot of the model has the bytes of ``data``, and nothing behind them but erased memory and the
    record of the boot loader in the last page."""
    content = device.slot(1, slot)
    end = len(content) - device.board.memory.page_bytes
    return content[: len(data)] == data and set(content[len(data) : end]) <= {0xFF}


def test_a_model_is_pushed_and_rolled_back(
    plant: SmpPlant, device: BoardPort, arenite: Arenite, image: Path
) -> None:
    old = make_model("1.0.0")
    releases = ("fleet", "status", "--database", plant.folder / "fleet.db", "--json")
    with plant.server() as server, plant.gateway(device.path, "--smp") as gateway:
        until(lambda: gateway.has_said("answers"))
        before = arenite("update", "status", plant.url, "--json").json
        assert (before["port"], before["board"], before["outcome"]) == (plant.url, "qemu_microbit", "none")
        pushed = arenite("update", "push", image, plant.url, "--json").json
        assert (pushed["outcome"], pushed["port"]) == ("confirmed", plant.url)
        [sent] = pushed["files"]
        assert (sent["version"], sent["bytes"], sent["resumed_at"]) == ("2.0.0", len(LONG), 0)
        assert is_in_slot(device, LONG) and is_in_slot(device, old, 1)
        # The server learns what runs now.
        until(lambda: server.has_said("Serving"))
        until(lambda: arenite(*releases).json["releases"] == {"2.0.0": 1})
        again = arenite("update", "push", image, plant.url)
        assert again.code == 0 and "runs these images already" in again.out
        back = arenite("update", "rollback", plant.url)
        assert back.code == 0 and "runs them again" in back.out
        assert is_in_slot(device, old) and is_in_slot(device, LONG, 1)
        gateway.stop()
        assert gateway.has_said("uses the device through the broker")
    assert device.board.resets == 2


def test_what_a_device_would_refuse_is_refused_in_the_same_words(
    plant: SmpPlant, device: BoardPort, arenite: Arenite, tmp_path: Path
) -> None:
    other, broken, foreign = (tmp_path / f"{name}.bin" for name in ("other", "broken", "foreign"))
    other.write_bytes(make_model("2.0.0", abi=bytes(32)))
    broken.write_bytes(make_model("2.0.0", first=b"R"))
    with plant.gateway(device.path, "--smp") as gateway:
        until(lambda: gateway.has_said("answers"))
        arenite("update", "push", other, plant.url).refused(1, "for another graph, arena or kernels")
        foreign.write_bytes(make_model("2.0.0", foreign=True))
        arenite("update", "push", foreign, plant.url).refused(1, "the device trusts only the key")
        returned = arenite("update", "push", broken, plant.url)
        assert returned.code == 1 and "failed their self-test with reason 200" in returned.out
        arenite("update", "push", broken, plant.url, "--fec").refused(2, "are for a serial port")
        arenite("update", "status", plant.url, "--baud", 9600).refused(2, "are for a serial port")


@pytest.mark.slow
def test_the_broker_and_the_gateway_may_go_away_during_an_upload(
    plant: SmpPlant, device: BoardPort, arenite: Arenite, image: Path
) -> None:
    with plant.gateway(device.path, "--smp") as gateway, plant.push(image, plant.url, "--json") as push:
        until(lambda: device.received_bytes > 8000)
        plant.broker.kill()
        assert push.is_running
        plant.broker.start()
        count = device.received_bytes
        until(lambda: device.received_bytes > count + 6000)
        gateway.stop()
        sent = device.received_bytes
        with plant.gateway(device.path, "--smp"):
            assert push.wait() == 0
        result = json.loads(push.log.read_text())
        assert result["outcome"] == "confirmed" and result["files"][0]["losses"] >= 2
        # The upload went on where it stopped: base64 makes the rest four thirds as long.
        assert device.received_bytes - sent < 1.5 * (len(LONG) - sent / 2)
    assert is_in_slot(device, LONG)


def test_a_stopped_push_goes_on_and_ends_its_session(
    plant: SmpPlant, device: BoardPort, arenite: Arenite, image: Path
) -> None:
    with plant.gateway(device.path, "--smp") as gateway:
        with plant.push(image, plant.url) as push:
            until(lambda: device.received_bytes > 8000)
            push.interrupt()
        until(lambda: gateway.has_said("has finished"))
        again = arenite("update", "push", image, plant.url, "--json").json
        assert again["outcome"] == "confirmed" and again["files"][0]["resumed_at"] > 4000
    assert is_in_slot(device, LONG)


def test_a_cable_may_be_pulled_during_an_upload(plant: SmpPlant, device: BoardPort, image: Path) -> None:
    with plant.gateway(device.path, "--smp") as gateway, plant.push(image, plant.url, "--json") as push:
        until(lambda: device.received_bytes > 8000)
        device.pull()
        until(lambda: gateway.has_said("disappeared") or gateway.has_said("no serial port"))
        device.connect()
        assert push.wait() == 0
    assert is_in_slot(device, LONG)


def test_the_device_has_one_user_at_a_time(
    plant: SmpPlant, device: BoardPort, arenite: Arenite, image: Path, tmp_path: Path
) -> None:
    first = RawOperator(plant.port, "ann")
    desired = make_model("3.0.0")
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "3.bin").write_bytes(desired)
    with plant.gateway(device.path, "--smp", "--images", tmp_path / "images") as gateway:
        until(lambda: gateway.has_said("answers"))
        until(lambda: first.send("open").problem is None)
        arenite("update", "push", image, plant.url).refused(3, "The operator ann uses the device now")
        arenite("update", "push", image, device.path).refused(3, "Another program uses the serial port")
        # A rollout waits for the end of the session.
        server = Client(f"127.0.0.1:{plant.port}")
        release = {"schema": "arenite.desired/1", "generation": 1, "release": "3.0.0"}
        digest = hashlib.sha256(desired).hexdigest()
        server.publish("arenite/plant/pump-1/desired", json.dumps({**release, "image": digest}).encode())
        until(lambda: gateway.has_said("the release waits until the operator ann has finished"))
        assert first.send("send", ECHO).problem is None
        assert first.send("close").problem is None
        until(lambda: gateway.has_said("the release installed"))
        assert is_in_slot(device, desired)
        assert arenite("update", "push", image, plant.url).code == 0
        server.close()
    first.close()


def test_a_repeated_request_reaches_the_device_once(plant: SmpPlant, device: BoardPort) -> None:
    operator = RawOperator(plant.port, "ann")
    late = encode_smp_request(SmpRequest("send", "session of ann", 1, RESET))
    # Nobody listens yet, and the broker would keep this for the gateway.
    operator.publish(encode_smp_request(SmpRequest("open", "session of ann", 1)), is_retained=True)
    with plant.gateway(device.path, "--smp") as gateway:
        until(lambda: gateway.has_said("answers"))
        until(lambda: operator.send("send", ECHO).problem == "no_session")
        assert operator.send("open").problem is None
        opened = operator.answers[-1].number
        echo = operator.send("send", ECHO)
        answer = decode_answer(echo.message)
        assert answer is not None and answer.body == {"r": "hello"} and answer.sequence == 1
        operator.send("send", RESET, number=opened + 10)
        for _ in range(3):
            operator.send("send", RESET, number=opened + 10)  # the broker delivers it again
        operator.publish(late)  # from before the session
        assert operator.send("send", ECHO, number=opened + 11).problem is None
        assert operator.send("send", b"no message", number=opened + 12).problem == "malformed"
        operator.publish(b"no JSON")
        until(lambda: gateway.has_said("a request of the operator ann is malformed: it is not JSON"))
    assert device.board.resets == 1
    operator.close()


@pytest.mark.slow
def test_what_is_missing_is_told(plant: SmpPlant, device: BoardPort, arenite: Arenite) -> None:
    status = ("update", "status")
    arenite(*status, plant.url).refused(3, "knows no device 'pump-1' in the fleet 'plant'")
    with plant.gateway(device.path) as gateway:
        until(lambda: gateway.has_said("answers"))
        until(lambda: "is online" in arenite(*status, plant.url).err)
        arenite(*status, plant.url).refused(3, "nobody takes requests", "--smp")
        gateway.stop()
    arenite(*status, plant.url).refused(3, "'pump-1' is offline", "--smp")
    with plant.gateway(device.path, "--smp") as gateway:
        until(lambda: arenite(*status, plant.url).code == 0)
        device.answers = False
        arenite(*status, plant.url).refused(3, "The gateway answers, but not the device")
        device.pull()
        until(lambda: gateway.has_said("no serial port"))
        arenite(*status, plant.url).refused(3, "There is no serial port")
        device.connect()
    plant.broker.kill()
    arenite(*status, plant.url).refused(3, "cannot be reached")


def test_addresses_that_name_no_device_are_explained(arenite: Arenite) -> None:
    for url, words in (
        ("mqtt://broker", "names no fleet and device"),
        ("mqtt://broker/plant", "names no fleet and device"),
        ("mqtt://broker/plant/a/b", "not a name of a device"),
        ("mqtt://broker/plant/pump?qos=1", "unknown option 'qos'"),
        ("mqtt://a%2Fb@broker/plant/pump", "cannot be a part of a topic"),
        ("http://broker/plant/pump", "does not begin with mqtt://"),
        ("mqtts://broker/plant/pump?cert=/none.pem", "There is no file /none.pem"),
    ):
        arenite("update", "status", url).refused(2, words)
