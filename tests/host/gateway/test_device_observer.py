"""Counts of firmware reach heartbeats once, whatever is interrupted: the device's C code, and the agent's files."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.errors import UsageError
from arenite.files import replace_file
from arenite.host.fleet.agent import Agent, AgentSettings, DeviceIdentity
from arenite.host.fleet.event_store import EventStore
from arenite.host.fleet.messages import (
    Acknowledgement,
    DesiredRelease,
    decode_events,
    encode_acknowledgement,
    encode_desired,
)
from arenite.host.gateway import reported_window
from arenite.host.gateway.device_observer import DeviceObserver, reset_cause
from arenite.host.update.device_agent import read_agent_state
from arenite.host.update.device_link import DeviceLink
from tests.docs.schemas import problems
from tests.firmware.agent.device import Device, DeviceLine
from tests.host.fleet.simulated_installer import SimulatedInstaller

pytest.importorskip("cbor2", reason="needs cbor2: pip install 'arenite[update]'")
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
WATCHDOG, SOFTWARE = 3, 4
IDENTITY = DeviceIdentity("plant", "pump-1", "qemu_microbit", "cortex-m0")
TOPIC = "arenite/plant/pump-1/"


class Killed(Exception):
    """The gateway was killed."""


class Gateway:
    """A gateway with one device, and a server that keeps the body of each event that it acknowledged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.device = Device(boot=7, cause=WATCHDOG)
        self.line = DeviceLine(self.device)
        self.installer = SimulatedInstaller("1.0.0")
        self.generation = self.inferences = 0
        self.kill_in = -1  # writes until the gateway is killed
        self._events: dict[tuple[int, int], dict[str, Any]] = {}
        self.start()

    def start(self) -> None:
        self.link = DeviceLink(lambda: self.line, clock=self.line.clock)
        cause = reset_cause(read_agent_state(self.link))
        settings = AgentSettings(heartbeat_s=10**6, is_durable=False)
        self.agent = Agent(
            *(IDENTITY, self.folder, self.installer, cause), is_device_start=False, settings=settings
        )
        self.observer = DeviceObserver(self.folder / "observed.json", self.agent, threading.Lock())
        self.observer.poll(self.link)

    def run(self, action: Callable[[], None]) -> None:
        """Carry out an action. If the gateway is killed meanwhile, start another one."""

        def write(real: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
            self.kill_in -= 1
            if self.kill_in == 0:
                raise Killed
            result = real(*arguments, **options)
            self.kill_in -= 1
            if self.kill_in == 0:
                raise Killed
            return result

        replace, append = replace_file, EventStore.append
        with (
            patch.object(reported_window, "replace_file", lambda *a, **o: write(replace, *a, **o)),
            patch.object(EventStore, "append", lambda *a: write(append, *a)),
        ):
            while True:
                try:
                    action()
                    return
                except Killed:
                    self.agent.close()
                    action = self.start

    def observe(self, count: int = 1) -> None:
        for _ in range(count):
            self.inferences += 1
            n = self.inferences
            self.device.observe(bytes([n % 256]), 7 * n, bytes(k * n % 256 for k in range(5)))

    def restart(self, boot: int, cause: int = WATCHDOG) -> None:
        self.device = self.line.device = Device(boot=boot, cause=cause)

    def poll(self) -> None:
        self.observer.poll(self.link)

    def heartbeat(self) -> None:
        self.agent.heartbeat()

    def serve(self) -> None:
        """The server takes what waits."""
        self.agent.connected()
        while (message := self.agent.outgoing()) is not None:
            batch = decode_events(message[1])
            for event in batch.events:  # those of earlier boots may come again
                self._events[batch.epoch, event.sequence] = json.loads(event.body)
            acknowledgement = Acknowledgement(batch.epoch, batch.events[-1].sequence)
            self.agent.receive(TOPIC + "acknowledged", encode_acknowledgement(acknowledgement))

    def roll_out(self, release: str) -> None:
        self.generation += 1
        desired = DesiredRelease(self.generation, release, "0" * 64)
        self.agent.receive(TOPIC + "desired", encode_desired(desired))

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return list(self._events.values())

    def boots(self) -> list[tuple[str, str | None]]:
        return [
            (body["reset_cause"], body["crashed_release"])
            for body in self.bodies
            if body["schema"] == "arenite.boot/1"
        ]

    def sums(self, release: str | None = None) -> Counter[Any]:
        """Return the sums of all heartbeats."""
        result: Counter[Any] = Counter()
        for body in self.bodies:
            if body["schema"] == "arenite.heartbeat/1" and release in (None, body["release"]):
                result["inferences"] += body["inferences"]
                for bucket, count in body["latency"]:
                    result["latency", bucket] += count
                rows = [("classes", body["classes"]), ("confidence", body["confidence"])]
                rows += [(f"inputs.{k}", counts) for k, counts in enumerate(body["inputs"])]
                for name, counts in rows:
                    for bucket, count in enumerate(counts):
                        result[name, bucket] += count
        return +result


def expected(count: int) -> Counter[Any]:
    """Return the sums of that many inferences from the first on, counted by a device that nothing disturbs."""
    device = Device(classes=5, boot=1, buffer_bytes=512)
    for n in range(1, count + 1):
        device.observe(bytes([n % 256]), 7 * n, bytes(k * n % 256 for k in range(5)))
    names = ((0, "latency"), (1, "classes"), (2, "confidence"), (16, "inputs.0"), (17, "inputs.1"))
    result: Counter[Any] = Counter()
    for number, name in names:
        result.update({(name, k): count for k, count in enumerate(device.counts(number))})
    result["inferences"] = count
    return +result


OPERATIONS = st.lists(
    st.sampled_from(
        ("observe", "poll", "heartbeat", "serve", "kill", "lose an answer", "observe during poll")
    )
    | st.integers(1, 12),
    min_size=10,
    max_size=40,
)


@settings(max_examples=80, deadline=None)
@given(OPERATIONS)
def test_each_inference_is_in_one_heartbeat(operations: list[str | int]) -> None:
    """A number is that of the writes after which the gateway is killed."""
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(Path(folder))
        for operation in operations:
            if isinstance(operation, int):
                gateway.kill_in = operation
            elif operation == "observe":
                gateway.observe(3)
            elif operation == "kill":
                gateway.agent.close()
                gateway.run(gateway.start)
            elif operation == "lose an answer":
                gateway.line.lost = 1
            elif operation == "observe during poll":
                gateway.line.before = gateway.observe
                gateway.run(gateway.poll)
                gateway.line.before = lambda: None
            else:
                gateway.run(getattr(gateway, operation))
        for last in (gateway.poll, gateway.heartbeat, gateway.serve):
            gateway.kill_in = -1
            gateway.run(last)
        assert gateway.sums() == expected(gateway.inferences)
        assert [problems(body) for body in gateway.bodies] == [[]] * len(gateway.bodies)
        assert {crashed for _, crashed in gateway.boots()} == {None}
        gateway.poll()
        assert gateway.device.ask(0, 1, {}).body["n"] == 0, "the window was not closed"
        gateway.agent.close()


@pytest.mark.parametrize("request_number", range(1, 12))
def test_an_inference_between_two_requests_is_in_one_heartbeat(tmp_path: Path, request_number: int) -> None:
    gateway = Gateway(tmp_path)
    gateway.observe(3)
    gateway.poll()
    gateway.heartbeat()
    gateway.observe(2)
    at = gateway.line.requests + request_number

    def observe() -> None:
        if gateway.line.requests + 1 == at:
            gateway.observe()

    gateway.line.before = observe
    for _ in range(3):
        gateway.poll()
        gateway.heartbeat()
    gateway.serve()
    assert gateway.line.requests > at and gateway.inferences == 6
    assert gateway.sums() == expected(6)
    gateway.agent.close()


def test_a_heartbeat_that_was_acknowledged_after_an_interruption_counts_once(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path)
    gateway.observe(3)
    gateway.poll()
    gateway.observe()  # keeps the window open
    gateway.kill_in = 4  # the heartbeat is stored, and the file that tells so is not replaced
    gateway.run(gateway.heartbeat)
    for _ in range(4):  # more bytes than acknowledged events may leave in the file of the events
        gateway.agent.record("example.text/1", text=8000 * "x")
    gateway.serve()
    gateway.agent.close()
    gateway.start()
    gateway.heartbeat()
    gateway.serve()
    assert gateway.sums() == expected(4)
    gateway.agent.close()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2), st.booleans()), max_size=8))
def test_each_restart_is_reported_once(restarts: list[tuple[int, int, bool]]) -> None:
    """What was read before a restart is not lost, even if the number of the boot is the same after it. If the gateway
    is killed at the same time, what it has read since the last heartbeat is lost."""
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(Path(folder))
        boot = 7
        for kill_in, step, reads_twice in restarts:
            gateway.device.tick(16_000_000, 16_000)
            gateway.observe(2)
            for _ in range(1 + reads_twice):
                gateway.run(gateway.poll)
            boot += step or bool(kill_in)
            gateway.restart(boot)
            gateway.kill_in = kill_in or -1
            gateway.run(gateway.poll)
            gateway.run(gateway.poll)
        gateway.kill_in = -1
        gateway.heartbeat()
        gateway.serve()
        crashes = [crashed for cause, crashed in gateway.boots() if crashed is not None]
        assert crashes == ["1.0.0"] * len(restarts)
        assert all(cause == "watchdog" for cause, _ in gateway.boots())
        if not any(kill_in for kill_in, _, _ in restarts):
            assert gateway.sums() == expected(gateway.inferences)
        gateway.agent.close()


def test_counts_belong_to_the_release_that_ran(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path)
    gateway.observe(3)
    gateway.poll()
    gateway.roll_out("2.0.0")
    gateway.observe(4)
    gateway.poll()  # before the installation
    gateway.observer.expect_update()
    gateway.restart(8, SOFTWARE)
    gateway.observe(5)
    gateway.poll()  # must wait: the agent has not taken up the result
    gateway.agent.tick()
    gateway.poll()
    gateway.heartbeat()
    gateway.serve()
    assert (gateway.sums("1.0.0")["inferences"], gateway.sums("2.0.0")["inferences"]) == (7, 5)
    assert gateway.boots() == [("watchdog", None), ("update", None)]
    gateway.restart(9)
    gateway.poll()
    gateway.serve()
    assert gateway.boots()[2:] == [("watchdog", "2.0.0")]
    gateway.agent.close()


def test_a_window_is_closed_before_its_counts_are_full(tmp_path: Path) -> None:
    """A device that never stops counting loses only what it counts while its window is closed for once."""
    gateway = Gateway(tmp_path)
    gateway.observe(16_384)
    gateway.poll()
    gateway.serve()
    assert gateway.device.ask(0, 1, {}).body["n"] == 0
    assert gateway.sums() == expected(16_384)
    gateway.line.before = gateway.observe
    gateway.observe(40_000)
    gateway.poll()
    assert gateway.device.ask(0, 1, {}).body["n"] > 40_000
    gateway.observe(20_000)
    gateway.poll()
    assert gateway.device.ask(0, 1, {}).body["n"] < 30
    gateway.line.before = lambda: None
    gateway.poll()
    gateway.heartbeat()
    gateway.serve()
    lost = gateway.inferences - gateway.sums()["inferences"]
    assert 0 < lost < 30
    gateway.agent.close()


def test_another_file_is_refused(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path)
    gateway.agent.close()
    path = tmp_path / "observed.json"
    for text in ("{", "{}", '{"counts": {}, "next": null}', '{"counts": 5, "next": null}', "[]"):
        path.write_text(text)
        with pytest.raises(UsageError, match=r"observed\.json is not a note of reported counts"):
            gateway.start()
        gateway.agent.close()
