"""The server and the agent's connection with a real broker, and the commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arenite.host.cli.main import main
from arenite.host.fleet.agent import Agent, AgentSettings, DeviceIdentity
from arenite.host.fleet.agent_connection import AgentConnection
from arenite.host.mqtt.broker_address import BrokerAddress
from arenite.host.mqtt.client import make_client
from tests.host.fleet.broker_helpers import WAIT_S, needs_broker, until
from tests.host.fleet.simulated_installer import REFERENCE, SimulatedInstaller, hash_of


class Commands:
    """``arenite fleet`` with the database of a test."""

    def __init__(self, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.url = url
        self._capsys = capsys

    def run(self, *arguments: str, code: int = 0) -> str:
        """Run a command, and return what it prints: its errors if ``code`` is not 0."""
        assert main(["fleet", *arguments, "--database", self.url]) == code
        printed = self._capsys.readouterr()
        return printed.err if code else printed.out

    def json(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json"))


@pytest.fixture
def commands(tmp_path: Path, port: int, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    """A server of the fleet 'plant'."""
    url = f"sqlite:{tmp_path / 'fleet.db'}"
    arguments = ["fleet", "serve", "--database", url, "--broker", f"127.0.0.1:{port}", "--fleet", "plant"]
    with (tmp_path / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "arenite.host.cli.main", *arguments], stdout=log, stderr=log
        )
    try:
        until(lambda: b"Serving" in (tmp_path / "server.log").read_bytes() or server.poll() is not None)
        yield Commands(url, capsys)
        server.send_signal(signal.SIGTERM)
        assert server.wait(WAIT_S) == 0
    finally:
        server.kill()
        server.wait()
        capsys.readouterr()
        print((tmp_path / "server.log").read_text())


def release_file(folder: Path, release: str) -> str:
    image = {"board": "qemu_microbit", "image": hash_of(release), "reference": REFERENCE.to_json()}
    path = folder / f"{release}.json"
    path.write_text(json.dumps({"schema": "arenite.release/1", "release": release, "images": [image]}))
    return str(path)


@needs_broker
def test_a_device_installs_what_a_rollout_gives_it(tmp_path: Path, port: int, commands: Commands) -> None:
    identity = DeviceIdentity("plant", "d1", "qemu_microbit", "cortex-m0")
    agent = Agent(
        identity, tmp_path / "d1", SimulatedInstaller("1.0.0"), settings=AgentSettings(1, is_durable=False)
    )
    problems: list[str] = []
    connection = AgentConnection(agent, BrokerAddress("127.0.0.1", port), problems.append)
    stop = threading.Event()
    thread = threading.Thread(target=connection.run, args=(stop,))
    thread.start()
    try:
        until(lambda: commands.json("status")["devices"]["total"] == 1)
        assert commands.run("rollout", "add", release_file(tmp_path, "2.0.0")) == "release 2.0.0: 1 image\n"
        settings = ["soak_s=1", "min_inferences=0", "min_heartbeats=1"]
        started = commands.json("rollout", "start", "2.0.0", *(f"--set={text}" for text in settings))
        assert (started["state"], started["settings"]["soak_s"]) == ("running", 1)
        until(lambda: commands.json("rollout", "show", "1")["state"] == "done")
        status = commands.json("status", "--devices")
        assert status["releases"] == {"2.0.0": 1}
        assert status["events"]["lost"] == 0
        assert status["device_list"][0]["online"] is True
        assert "is done" in commands.run("rollout", "show", "1")
        assert "1 device, 1 online" in commands.run("status", "--devices")
        assert commands.run("group", "d1", "lab") == "d1 is in the group lab\n"
        assert commands.json("status")["groups"] == {"lab": 1}
        assert "cannot be aborted" in commands.run("rollout", "abort", "1", code=2)
    finally:
        stop.set()
        thread.join()
    assert problems == []
    assert [desired.release for desired in agent._installer.begun] == ["2.0.0"]  # type: ignore[attr-defined]


@needs_broker
def test_the_broker_tells_that_a_device_is_gone(tmp_path: Path, port: int, commands: Commands) -> None:
    """The process of a device is killed, so the broker publishes its last will."""
    program = f"""
import threading
from pathlib import Path
from arenite.host.fleet.agent import Agent, AgentSettings, DeviceIdentity
from arenite.host.fleet.agent_connection import AgentConnection
from arenite.host.mqtt.broker_address import BrokerAddress
from tests.host.fleet.broker_helpers import WAIT_S, needs_broker, until
from tests.host.fleet.simulated_installer import SimulatedInstaller
identity = DeviceIdentity("plant", "d1", "qemu_microbit", "cortex-m0")
agent = Agent(identity, Path({str(tmp_path / "d1")!r}), SimulatedInstaller("1.0.0"))
AgentConnection(agent, BrokerAddress("127.0.0.1", {port}), print).run(threading.Event())
"""
    with subprocess.Popen([sys.executable, "-c", program]) as device:
        try:
            until(lambda: commands.json("status")["devices"]["online"] == 1)
        finally:
            device.kill()
    until(lambda: commands.json("status")["devices"]["online"] == 0)


@needs_broker
def test_malformed_messages_do_not_stop_the_server(tmp_path: Path, port: int, commands: Commands) -> None:
    client = make_client(BrokerAddress("127.0.0.1", port), "attacker", is_persistent=False)
    client.connect("127.0.0.1", port)
    client.loop_start()
    good = {
        "schema": "arenite.events/1",
        "epoch": 1,
        "first": 1,
        "events": [{"sequence": 1, "body": {"x": 1}}],
    }
    payloads = [b"", b"\xff", b"[" * 60_000, b"{}", json.dumps({**good, "epoch": -1}).encode()]
    # The server's subscription may come after the first messages, so the last one is sent until it arrives.
    for payload in payloads:
        for channel in ("events", "status"):
            client.publish(f"arenite/plant/d1/{channel}", payload, 1).wait_for_publish(WAIT_S)
    client.publish("arenite/plant/a b/events", json.dumps(good), 1).wait_for_publish(WAIT_S)

    def arrives() -> bool:
        client.publish("arenite/plant/d2/events", json.dumps(good), 1)
        return bool(commands.json("status")["devices"]["total"])

    until(arrives)
    client.loop_stop()
    status = commands.json("status")
    assert (status["devices"]["total"], status["events"]["stored"]) == (1, 1)
    assert "is malformed, and so ignored" in (tmp_path / "server.log").read_text()


def test_commands_explain_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = str(tmp_path / "fleet.db")
    commands = Commands(url, capsys)
    assert "There is no database" in commands.run("status", code=2)
    from arenite.host.fleet.open_database import open_database

    open_database(url)
    (tmp_path / "r.json").write_text("{")
    for arguments, words in (
        (("rollout", "start", "9"), "There is no release '9'."),
        (("rollout", "start", "9", "--set", "speed=3"), "no setting 'speed'"),
        (("rollout", "start", "9", "--set", "soak_s"), "'soak_s' is not a setting"),
        (("rollout", "start", "9", "--set", "soak_s=inf"), "has the value inf"),
        (("rollout", "start", "9", "--set", "waves=1,x"), "not a number"),
        (("rollout", "show", "7"), "There is no rollout 7."),
        (("rollout", "pause", "7"), "There is no rollout 7."),
        (("group", "d1", "lab"), "There is no device 'd1'."),
        (("group", "d1", "a/b"), "not a name of a group"),
        (("rollout", "add", str(tmp_path / "r.json")), "is not JSON"),
        (("rollout", "add", str(tmp_path / "none.json")), "No such file"),
        (("serve", "--broker", "http://x"), "does not begin with mqtt://"),
        (("serve", "--broker", "localhost:99999999"), "malformed"),
    ):
        error = commands.run(*arguments, code=2)
        assert words in error
        assert "Traceback" not in error


def test_the_database_may_be_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "ARENITE_FLEET_DATABASE", str(tmp_path / "none.db"))
    assert main(["fleet", "status"]) == 2
