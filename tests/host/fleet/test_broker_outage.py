"""An agent whose broker is away tells so, but not all the time."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from arenite.host.fleet.agent import Agent, AgentSettings, DeviceIdentity
from arenite.host.fleet.agent_connection import AgentConnection
from arenite.host.fleet.broker_outage import BrokerOutage
from arenite.host.mqtt.broker_address import BrokerAddress
from benchmarks.fleet.services import Broker
from tests.free_port import free_port
from tests.host.fleet.broker_helpers import needs_broker, until
from tests.host.fleet.simulated_installer import SimulatedInstaller


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_outage_is_reported_at_growing_intervals() -> None:
    clock, reports = Clock(), list[tuple[float, str]]()
    outage = BrokerOutage("mqtt://b:1883", lambda text: reports.append((clock.now, text)), clock)
    outage.end()
    outage.tick(0)
    assert reports == []
    while clock.now < 6 * 3600:
        outage.begin("cannot be reached")  # every attempt to connect fails
        outage.tick(7)
        clock.now += 30
    minutes = [at / 60 for at, _ in reports]
    assert minutes == [0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303]
    assert reports[0][1] == "The broker mqtt://b:1883 cannot be reached. Events wait here; trying again."
    assert reports[2][1] == "There is no connection to the broker mqtt://b:1883 for 3 min. 7 events wait."
    outage.end()
    assert reports[-1][1] == "Connected to mqtt://b:1883."
    outage.begin("ended the connection")  # a new outage
    assert "ended the connection" in reports[-1][1]


def test_a_broker_that_never_answers_is_reported() -> None:
    clock, reports = Clock(), list[str]()
    outage = BrokerOutage("mqtt://b:1883", reports.append, clock)
    outage.tick(1)
    assert reports == []
    clock.now = 10
    outage.tick(1)
    outage.tick(1)
    assert reports == ["The broker mqtt://b:1883 does not answer. Events wait here; trying again."]


@pytest.mark.slow
@needs_broker
def test_an_agent_tells_once_that_its_broker_is_away(tmp_path: Path) -> None:
    port, reports, stop = free_port(), list[str](), threading.Event()
    agent = Agent(
        DeviceIdentity("plant", "d1", "board", "core"),
        tmp_path / "d1",
        SimulatedInstaller("1.0.0"),
        settings=AgentSettings(is_durable=False),
    )
    connection = AgentConnection(agent, BrokerAddress("127.0.0.1", port), reports.append)
    thread = threading.Thread(target=connection.run, args=(stop,))
    thread.start()
    broker = Broker(tmp_path, port)
    try:
        until(lambda: reports)
        broker.start()
        until(lambda: len(reports) == 2)
        broker.kill()
        until(lambda: len(reports) == 3)
    finally:
        stop.set()
        thread.join()
        broker.kill()
    assert "cannot be reached" in reports[0]
    assert reports[1] == f"Connected to mqtt://127.0.0.1:{port}."
    assert "ended the connection" in reports[2]
