"""Clients with and without certificates, and a real mosquitto with the files of ``arenite fleet broker``."""

from __future__ import annotations

import signal
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from arenite.host.cli.main import main
from arenite.host.fleet.agent import Agent, AgentSettings, DeviceIdentity
from arenite.host.fleet.agent_connection import AgentConnection
from arenite.host.fleet.clock import SystemClock
from arenite.host.fleet.fleet_status import fleet_status
from arenite.host.fleet.open_database import open_database
from arenite.host.fleet.security.authority import create_authority, load_authority
from arenite.host.mqtt.broker_address import parse_broker_address
from tests.host.fleet.broker_helpers import WAIT_S, needs_broker, until
from tests.host.fleet.security.secure_broker import Client, SecureBroker
from tests.host.fleet.simulated_installer import SimulatedInstaller

pytestmark = needs_broker


def test_a_device_reaches_only_its_own_topics(broker: SecureBroker) -> None:
    server = Client(broker.url("server"))
    server.subscribe("arenite/plant/#")
    pump, valve = Client(broker.device("pump")), Client(broker.device("valve"))
    for topic in ("arenite/plant/valve/desired", "arenite/plant/#", "#", "arenite/plant/pump/desired"):
        pump.subscribe(topic)
    valve.subscribe("arenite/plant/valve/desired")

    # The broker takes what a device may not publish, and delivers it to nobody.
    pump.publish("arenite/plant/valve/events", b"forged")
    pump.publish("arenite/plant/valve/status", b"forged")
    pump.publish("arenite/plant/valve/desired", b"forged")
    pump.publish("arenite/plant/pump/desired", b"forged")
    pump.publish("arenite/other/pump/events", b"forged")
    server.publish("arenite/plant/valve/desired", b"for valve")
    server.publish("arenite/plant/pump/desired", b"for pump")
    pump.publish("arenite/plant/pump/events", b"events")
    until(lambda: ("arenite/plant/pump/events", b"events") in server.messages)
    until(lambda: valve.messages and pump.messages)

    assert b"forged" not in [payload for _, payload in server.messages]
    assert valve.messages == [("arenite/plant/valve/desired", b"for valve")]
    # Several subscriptions match the message, so it may arrive several times.
    assert set(pump.messages) == {("arenite/plant/pump/desired", b"for pump")}
    for client in (server, pump, valve):
        client.close()


@pytest.mark.slow
def test_clients_without_a_valid_certificate_are_refused(broker: SecureBroker, tmp_path: Path) -> None:
    good = Client(broker.device("pump"))
    assert good.outcome == "connected"
    good.close()
    foreign = create_authority(tmp_path, "plant")
    (broker.folder / "broker-as-client.pem").write_bytes((broker.folder / "broker/broker.pem").read_bytes())
    (broker.folder / "broker-as-client.key").write_bytes((broker.folder / "broker/broker.key").read_bytes())
    for case, url in {
        "none": broker.url("", has_certificate=False),
        "foreign": broker.device("pump", authority=foreign),
        "expired": broker.device("pump", days=-0.5),
        "broker": broker.url("broker-as-client"),
    }.items():
        client = Client(url)
        assert client.outcome == "refused", case
        client.close()


def test_a_device_cannot_pose_as_the_broker(broker: SecureBroker) -> None:
    """A false broker has the certificate of a device. The client must not connect."""
    config = broker.folder / "broker" / "mosquitto.conf"
    text = config.read_text().replace("broker.pem", "false.pem").replace("broker.key", "false.key")
    broker.device("broker/false")
    (broker.folder / "broker" / "false.key").chmod(0o644)
    config.write_text(text)
    broker.stop()
    broker.start()
    client = Client(broker.device("pump"))
    assert client.outcome == "refused"


def test_a_device_cannot_end_the_connection_of_another_client(broker: SecureBroker) -> None:
    server = Client(broker.url("server"), "arenite-fleet-plant")
    server.subscribe("arenite/plant/#")
    for client_id in ("arenite-fleet-plant", "@server"):
        pump = Client(broker.device("pump"), client_id)
        pump.publish("arenite/plant/pump/events", client_id.encode())
        until(lambda name=client_id: ("arenite/plant/pump/events", name.encode()) in server.messages)  # type: ignore[misc]
        pump.close()
    assert server.disconnections == 0
    server.close()


@pytest.mark.slow
@pytest.mark.parametrize("worker", ["", "one"])
def test_server_and_agent_work_with_certificates(broker: SecureBroker, tmp_path: Path, worker: str) -> None:
    url = f"sqlite:{tmp_path / 'fleet.db'}"
    address = broker.url("server-one" if worker else "server")
    arguments = ["fleet", "serve", "--database", url, "--fleet", "plant", "--broker", address]
    arguments += ["--worker", worker] if worker else []
    server = subprocess.Popen([sys.executable, "-m", "arenite.host.cli.main", *arguments])
    agent = Agent(
        DeviceIdentity("plant", "pump", "qemu_microbit", "cortex-m0"),
        tmp_path / "pump",
        SimulatedInstaller("1.0.0"),
        settings=AgentSettings(1, is_durable=False, retry_s=(0.3, 1.0)),
    )
    problems: list[str] = []
    connection = AgentConnection(agent, parse_broker_address(broker.device("pump")), problems.append)
    stop = threading.Event()
    thread = threading.Thread(target=connection.run, args=(stop,))
    thread.start()
    try:
        until(lambda: agent.pending_events == 0)
        with open_database(url).transaction() as transaction:
            status = fleet_status(transaction, SystemClock().now_ms())
        assert status["devices"]["total"] == 1
        server.send_signal(signal.SIGTERM)
        assert server.wait(WAIT_S) == 0
    finally:
        stop.set()
        thread.join()
        server.kill()
        server.wait()
    assert problems == []


def test_the_command_renews_certificates_and_keeps_the_authority(tmp_path: Path) -> None:
    arguments = ["fleet", "broker", str(tmp_path), "--fleet", "plant", "--host"]
    assert main([*arguments, "localhost"]) == 0
    authority, broker = load_authority(tmp_path), (tmp_path / "broker" / "broker.pem").read_bytes()
    assert main([*arguments, "192.0.2.7"]) == 0
    assert load_authority(tmp_path).fingerprint == authority.fingerprint
    assert (tmp_path / "broker" / "broker.pem").read_bytes() != broker
    for name in ("authority.key", "server.key", "broker/broker.key"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
    assert not (tmp_path / "broker" / "authority.key").exists()
    ssl.create_default_context(cafile=tmp_path / "authority.pem")


def test_the_command_explains_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "plant")
    assert main(["fleet", "broker", folder, "--fleet", "plant"]) == 0
    (tmp_path / "file").touch()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "authority.pem").write_text("x")
    capsys.readouterr()
    for arguments, words in (
        ([folder, "--fleet", "other"], "has the certificates of the fleet 'plant', not 'other'"),
        ([folder, "--fleet", "a/b"], "not a name of a fleet"),
        ([folder, "--fleet", "plant", "--host", "a b"], "'a b' is not a name or an address"),
        ([folder, "--fleet", "plant", "--worker", "w" * 60], "too long for a certificate"),
        ([str(tmp_path / "file" / "x"), "--fleet", "plant"], "Cannot write"),
        ([str(tmp_path / "damaged"), "--fleet", "plant"], "cannot be used"),
    ):
        assert main(["fleet", "broker", *arguments]) == 2
        error = capsys.readouterr().err
        assert words in error and "Traceback" not in error
