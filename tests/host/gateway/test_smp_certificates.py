"""The access rules of `arenite fleet broker` let only operators send requests to devices. The broker is a real one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arenite.host.fleet.topics import smp_topic
from arenite.host.gateway.smp_messages import SmpRequest, encode_smp_request
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.firmware.update.update_board import make_model
from tests.host.cli.conftest import Arenite, arenite
from tests.host.fleet.broker_helpers import needs_broker, until
from tests.host.fleet.security.secure_broker import Client, SecureBroker, secure_broker
from tests.host.gateway.board_port import BoardPort
from tests.host.gateway.smp_plant import Program

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = [needs_broker, pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)]
__all__ = ["arenite"]


def device_url(broker: SecureBroker, user: str, device: str = "pump-1") -> str:
    """Return the address of the device for the client whose files are called ``user``."""
    return broker.url(user).replace(f":{broker.port}?", f":{broker.port}/plant/{device}?")


def test_only_operators_send_requests_to_a_device(tmp_path: Path, arenite: Arenite) -> None:
    image = tmp_path / "model.bin"
    image.write_bytes(make_model("2.0.0"))
    with secure_broker("ann", "ben") as broker, BoardPort(tmp_path) as device:
        for name in ("pump-1", "valve"):
            broker.device(name)
        words = ("gateway", "--broker", broker.url("{device}"), "--fleet", "plant", "--smp")
        state = (f"--device=pump-1={device.path}", "--state", tmp_path / "state")
        with Program(tmp_path / "gateway.log", *words, *state) as gateway:
            until(lambda: gateway.has_said("answers"))
            ann, ben = (device_url(broker, f"operator-{name}") for name in ("ann", "ben"))
            pushed = arenite("update", "push", image, ann, "--json").json
            assert pushed["outcome"] == "confirmed" and "cert" not in pushed["port"]
            assert device.slot(1, 0).startswith(image.read_bytes())
            assert arenite("update", "rollback", ben).code == 0
            # Two commands with one certificate end the connection of each other. The first one goes on.
            image.write_bytes(make_model("3.0.0", payload_bytes=20_000))
            with Program(tmp_path / "push.log", "update", "push", image, ann) as push:
                count = device.received_bytes
                until(lambda: device.received_bytes > count + 3000)
                arenite("update", "status", ann).refused(3, "@operator-ann uses the device now")
                assert push.wait() == 0
            assert device.slot(1, 0).startswith(image.read_bytes())
            assert gateway.has_said("@operator-ann uses the device") and gateway.has_said(
                "@operator-ben has finished"
            )
            # A foreign device, and the device itself.
            arenite("update", "status", device_url(broker, "valve")).refused(
                3, "does not let valve send requests to the device 'pump-1'", "--operator"
            )
            gateway.stop()
        without = broker.url("none", has_certificate=False).replace("?", "/plant/pump-1?")
        arenite("update", "status", without).refused(3, "or refuses this certificate")


def test_operators_and_devices_reach_only_their_own_topics() -> None:
    with secure_broker("ann", "ben") as broker:
        server = Client(broker.url("server"))
        server.subscribe("arenite/plant/#")
        clients = {name: Client(broker.url(f"operator-{name}")) for name in ("ann", "ben")}
        clients |= {name: Client(broker.device(name)) for name in ("pump", "valve")}
        for client in clients.values():
            client.subscribe("arenite/plant/#")
        request = encode_smp_request(SmpRequest("open", "s", 1))
        requests = {
            name: smp_topic("plant", "pump", "request", f"@operator-{name}") for name in ("ann", "ben")
        }
        answers = {name: smp_topic("plant", "pump", "answer", f"@operator-{name}") for name in ("ann", "ben")}
        for name, topic in (
            ("ann", requests["ben"]),
            ("ann", answers["ann"]),
            ("ann", "arenite/plant/pump/desired"),
            ("valve", requests["ann"]),
            ("valve", smp_topic("plant", "pump", "request", "valve")),
            ("valve", answers["ann"]),
            ("pump", requests["ann"]),
        ):
            clients[name].publish(topic, b"forged")
        clients["ann"].publish(requests["ann"], request)
        clients["pump"].publish(answers["ann"], b"answer")
        until(lambda: (answers["ann"], b"answer") in server.messages)
        until(lambda: clients["ann"].messages and clients["pump"].messages)
        assert b"forged" not in [payload for _, payload in server.messages]
        assert clients["pump"].messages == [(requests["ann"], request)]
        assert clients["ann"].messages == [(answers["ann"], b"answer")]
        assert clients["ben"].messages == clients["valve"].messages == []
        for client in (server, *clients.values()):
            client.close()


def test_names_of_operators_are_checked(tmp_path: Path, arenite: Arenite) -> None:
    words = ("fleet", "broker", tmp_path / "plant", "--fleet", "plant", "--operator")
    arenite(*words, "a/b").refused(2, "'a/b' is not a name of an operator")
    arenite(*words, "o" * 60).refused(2, "too long for a certificate")
    made = arenite(*words, "ann")
    assert made.code == 0 and "/plant/DEVICE?" in made.out and "operator-ann.pem" in made.out
    assert (tmp_path / "plant" / "operator-ann.key").stat().st_mode & 0o077 == 0
    # Without the option, the operator has no rights any more.
    assert arenite(*words[:-1]).code == 0
    assert "operator" not in (tmp_path / "plant" / "broker" / "acl").read_text()
    damaged = tmp_path / "damaged.pem"
    damaged.write_text(json.dumps("no certificate"))
    url = f"mqtts://broker/plant/pump?cert={damaged}&key={damaged}"
    arenite("update", "status", url).refused(2, "cannot be read")
