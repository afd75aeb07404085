"""The device, the release, the access rules and the commands of the pages on fleets work as they are written."""

from __future__ import annotations

import getpass
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arenite.host.cli.main import main
from arenite.host.mqtt.broker_address import BrokerAddress
from arenite.host.mqtt.client import make_client
from benchmarks.fleet.services import Broker
from tests.docs.pages import ROOT
from tests.docs.schemas import problems
from tests.free_port import free_port
from tests.host.fleet.broker_helpers import needs_broker, until

PAGE = (ROOT / "docs/fleet.md").read_text("utf-8")
SECURITY_PAGE = (ROOT / "docs/fleet-security.md").read_text("utf-8")


def blocks(language: str, page: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def block(language: str, page: str = PAGE) -> str:
    (found,) = blocks(language, page)
    return found


def command(beginning: str) -> list[str]:
    """Return the words of the first command of the page that begins so, without ``arenite``."""
    line = next(line for line in PAGE.splitlines() if line.startswith(f"    arenite {beginning}"))
    return shlex.split(line)[1:]


def test_the_releases_fit_their_schema() -> None:
    for release in blocks("json", PAGE):
        assert problems(json.loads(release)) == []


@needs_broker
def test_the_page(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "release.json").write_text(blocks("json", PAGE)[0])
    own_port = f"localhost:{port}"
    serve = [word.replace("localhost:1883", own_port) for word in command("fleet serve --database fleet.db")]
    programs = [
        [sys.executable, "-m", "arenite.host.cli.main", *serve],
        [sys.executable, "-c", block("python").replace("localhost:1883", own_port)],
    ]
    processes = [subprocess.Popen(program) for program in programs]
    try:

        def run(beginning: str) -> str:
            assert main(command(beginning)) == 0
            return capsys.readouterr().out

        until(
            lambda: (tmp_path / "fleet.db").exists() and "1 device" in run("fleet status --database fleet.db")
        )
        until(lambda: "raspberrypi_5" in run("fleet status --database fleet.db --devices"))
        assert "release 2.0.0: 1 image" in run("fleet rollout add")
        assert "rollout 1 of 2.0.0 to the group default has started" in run("fleet rollout start")
        until(lambda: "1 installed" in run("fleet rollout show"))
        assert "rollout 1 is paused" in run("fleet rollout pause")
        assert "rollout 1 is running" in run("fleet rollout resume")
        assert "rolling back 1 device" in run("fleet rollout abort")
        # The device has no reason to send anything before its next heartbeat, so the roll back is not waited for.
        assert json.loads(run("fleet status --database fleet.db --json"))["releases"] == {"2.0.0": 1}
        assert "pump-1 is in the group lab" in run("fleet group pump-1 lab")
        assert all(process.poll() is None for process in processes)
    finally:
        for process in processes:
            process.kill()
            process.wait()


@needs_broker
def test_the_access_rules_keep_devices_apart(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "acl").write_text(blocks("text", SECURITY_PAGE)[0])
    (tmp_path / "passwords").touch(mode=0o600)
    for user in ("@server", "pump-1", "pump-2"):
        subprocess.run(["mosquitto_passwd", "-b", tmp_path / "passwords", user, "secret"], check=True)
    account = getpass.getuser()  # mosquitto would otherwise give up the rights to read the files
    lines = ["allow_anonymous false", f"acl_file {tmp_path}/acl", f"password_file {tmp_path}/passwords"]
    broker = Broker(tmp_path, port, (*lines, f"user {account}"))
    broker.start()
    clients: list[Any] = []
    received: list[tuple[str, str]] = []

    def connect(user: str, *topics: str) -> Any:
        client = make_client(
            BrokerAddress("127.0.0.1", port, user=user, password="secret"),
            f"c{len(clients)}",
            is_persistent=False,
        )
        subscribed: list[int] = []
        client.on_message = lambda _, __, message: received.append((user, message.topic))
        client.on_subscribe = lambda *_: subscribed.append(1)
        client.connect("127.0.0.1", port)
        client.loop_start()
        clients.append(client)
        for topic in topics:
            client.subscribe(topic, 1)
        until(lambda: client.is_connected() and len(subscribed) == len(topics))
        return client

    try:
        server = connect("@server", "arenite/plant/+/events", "arenite/plant/+/status")
        worker = connect("@server", "$share/arenite-fleet-plant/arenite/plant/+/status")
        worker.disconnect()
        good = connect("pump-1", "arenite/plant/pump-1/acknowledged", "arenite/plant/pump-1/desired")
        connect("pump-2", "#", "arenite/plant/pump-1/desired", "arenite/plant/+/events")
        for topic in ("pump-1/events", "pump-1/status", "pump-1/desired", "pump-2/desired"):
            # Mosquitto's answer to a message that it does not accept ends the connection.
            client = connect("pump-2")
            published = client.publish(f"arenite/plant/{topic}", "{}", 1)
            until(lambda: published.is_published() or not client.is_connected())  # noqa: B023
        for client, topic in (
            (connect("pump-2"), "pump-2/events"),
            (good, "pump-1/events"),
            (server, "pump-1/desired"),
        ):
            client.publish(f"arenite/plant/{topic}", "{}", 1).wait_for_publish(60)
        expected = {
            ("@server", "arenite/plant/pump-1/events"),
            ("@server", "arenite/plant/pump-2/events"),
            ("pump-1", "arenite/plant/pump-1/desired"),
        }
        until(lambda: set(received) >= expected)
        assert sorted(received) == sorted(expected)
    finally:
        for client in clients:
            client.loop_stop()
        broker.kill()


def test_the_page_has_the_rules_of_the_command(tmp_path: Path) -> None:
    assert main(["fleet", "broker", str(tmp_path), "--fleet", "plant"]) == 0
    rules, operator = blocks("text", SECURITY_PAGE)
    assert (tmp_path / "broker" / "acl").read_text() == rules
    assert main(["fleet", "broker", str(tmp_path), "--fleet", "plant", "--operator", "ann"]) == 0
    assert operator in (tmp_path / "broker" / "acl").read_text()
