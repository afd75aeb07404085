"""The agent reports, keeps what was not acknowledged, and has releases installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arenite.errors import UsageError
from arenite.host.fleet.agent import Agent, AgentSettings, DeviceIdentity
from arenite.host.fleet.installer import GoldenResult, InstallResult
from arenite.host.fleet.messages import (
    Acknowledgement,
    DesiredRelease,
    EventBatch,
    MessageError,
    decode_events,
    decode_status,
    encode_acknowledgement,
    encode_desired,
)
from tests.host.fleet.simulated_installer import SimulatedInstaller

IDENTITY = DeviceIdentity("plant", "pump-1", "qemu_mps2_an386", "cortex-m4f")


class SetClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.ms = 1_800_000_000_000

    def now_ms(self) -> int:
        return self.ms


class Bench:
    """An agent with clocks that the test moves."""

    agent: Agent

    def __init__(self, folder: Path, installer: SimulatedInstaller | None = None, **settings: Any) -> None:
        self.folder = folder
        self.clock = SetClock()
        self.retry_s = 0.0
        self.installer = installer or SimulatedInstaller("1.0.0")
        self._settings = AgentSettings(**{"is_durable": False, **settings})
        self.boot("power_on")

    def boot(self, cause: Any) -> None:
        if hasattr(self, "agent"):
            self.agent.close()
        self.agent = Agent(
            IDENTITY,
            self.folder,
            self.installer,
            cause,
            settings=self._settings,
            clock=self.clock,
            retry_clock=lambda: self.retry_s,
        )

    def batch(self) -> EventBatch | None:
        message = self.agent.outgoing()
        if message is None:
            return None
        assert message[0] == "arenite/plant/pump-1/events"
        return decode_events(message[1])

    def acknowledge(self, batch: EventBatch, desired: DesiredRelease | None = None) -> None:
        acknowledgement = Acknowledgement(batch.epoch, batch.events[-1].sequence, desired)
        self.agent.receive("arenite/plant/pump-1/acknowledged", encode_acknowledgement(acknowledgement))

    def take_all(self) -> list[dict[str, Any]]:
        """Return the bodies of all events, and acknowledge them."""
        bodies: list[dict[str, Any]] = []
        self.agent.connected()
        while (batch := self.batch()) is not None:
            bodies += [json.loads(event.body) for event in batch.events]
            self.acknowledge(batch)
        return bodies


def test_the_first_event_tells_what_boots(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert bench.batch() is None  # not connected
    topic, payload = bench.agent.connected()
    assert topic == bench.agent.will[0] == "arenite/plant/pump-1/status"
    assert decode_status(payload).is_online
    assert not decode_status(bench.agent.will[1]).is_online
    batch = bench.batch()
    assert batch is not None
    body = json.loads(batch.events[0].body)
    assert body["schema"] == "arenite.boot/1"
    assert (body["board"], body["release"], body["reset_cause"]) == ("qemu_mps2_an386", "1.0.0", "power_on")


def test_a_batch_is_sent_again_until_it_is_acknowledged(tmp_path: Path) -> None:
    bench = Bench(tmp_path, retry_s=(10.0, 40.0))
    bench.agent.connected()
    first = bench.batch()
    assert first is not None
    for wait in (10, 20, 40, 40):
        bench.retry_s += wait - 1
        assert bench.batch() is None
        bench.retry_s += 1
        assert bench.batch() == first
    bench.agent.disconnected()
    assert bench.batch() is None
    bench.agent.connected()
    assert bench.batch() == first
    bench.acknowledge(first)
    assert bench.agent.pending_events == 0
    assert bench.batch() is None


def test_events_of_earlier_boots_are_sent_first(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.agent.record("example.alarm/1", level=3)
    first_epoch = bench.agent.epoch
    bench.boot("watchdog")
    assert bench.agent.epoch == first_epoch + 1
    bodies = bench.take_all()
    assert [body["schema"] for body in bodies] == ["arenite.boot/1", "example.alarm/1", "arenite.boot/1"]
    assert bodies[2]["crashed_release"] == "1.0.0"


def test_an_erased_device_begins_other_epochs(tmp_path: Path) -> None:
    assert Bench(tmp_path / "a").agent.epoch != Bench(tmp_path / "b").agent.epoch


def test_a_heartbeat_reports_and_resets_the_observations(tmp_path: Path) -> None:
    bench = Bench(tmp_path, heartbeat_s=600)
    for _ in range(5):
        bench.agent.observe(1000, (3, 1), 2, 15)
    bench.clock.ms += 599_999
    bench.agent.tick()
    assert bench.agent.pending_events == 1
    bench.clock.ms += 1
    bench.agent.tick()
    bench.clock.ms += 600_000
    bench.agent.tick()
    heartbeats = bench.take_all()[1:]
    assert [heartbeat["inferences"] for heartbeat in heartbeats] == [5, 0]
    assert [heartbeat["classes"] for heartbeat in heartbeats] == [[0, 0, 5], [0, 0, 0]]
    assert heartbeats[0]["covered_ms"] == 600_000
    assert heartbeats[0]["psi"]["classes"] > 200_000


def test_heartbeats_go_on_after_the_clock_was_set_back(tmp_path: Path) -> None:
    bench = Bench(tmp_path, heartbeat_s=600)
    bench.clock.ms -= 10**9
    bench.agent.tick()
    bench.clock.ms += 600_000
    bench.agent.tick()
    assert bench.agent.pending_events == 2


def desire(bench: Bench, generation: int, release: str) -> None:
    bench.agent.receive(
        "arenite/plant/pump-1/desired", encode_desired(DesiredRelease(generation, release, "ab" * 32))
    )


def test_a_desired_release_is_installed_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.agent.observe(1000, (0, 0), 0, 0)
    for _ in range(2):
        desire(bench, 4, "2.0.0")
        bench.agent.tick()
    desire(bench, 3, "1.0.0")  # an older wish that was late
    bench.agent.tick()
    assert [desired.release for desired in bench.installer.begun] == ["2.0.0"]
    bodies = bench.take_all()
    assert [(body["schema"], body["release"]) for body in bodies] == [
        ("arenite.boot/1", "1.0.0"),
        ("arenite.heartbeat/1", "1.0.0"),
        ("arenite.heartbeat/1", "1.0.0"),
        ("arenite.update-outcome/1", "2.0.0"),
    ]
    assert bodies[-1]["outcome"] == "installed"
    assert bodies[1]["inferences"] == 1


def test_a_release_that_runs_already_is_not_installed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    desire(bench, 1, "1.0.0")
    bench.agent.tick()
    assert bench.installer.begun == []
    assert bench.take_all()[-1]["outcome"] == "unchanged"


def test_a_failed_golden_test_is_reported(tmp_path: Path) -> None:
    result = InstallResult("put_back", "the self-test failed", GoldenResult(8, 2))
    bench = Bench(tmp_path, SimulatedInstaller("1.0.0", {"2.0.0": result}))
    desire(bench, 1, "2.0.0")
    bench.agent.tick()
    outcome = bench.take_all()[-1]
    assert (outcome["release"], outcome["desired"], outcome["outcome"]) == ("1.0.0", "2.0.0", "put_back")
    assert outcome["golden"] == {"cases": 8, "failures": 2}


def test_an_installation_goes_on_after_a_restart(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    desire(bench, 1, "2.0.0")
    bench.boot("update")
    bench.agent.tick()
    outcomes = [body for body in bench.take_all() if body["schema"] == "arenite.update-outcome/1"]
    assert [outcome["outcome"] for outcome in outcomes] == ["installed"]
    assert len(bench.installer.begun) == 1


def test_an_installation_that_never_began_begins_after_a_restart(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    desire(bench, 1, "2.0.0")
    bench.installer = SimulatedInstaller("1.0.0")  # knows nothing of the installation
    bench.boot("power_on")
    assert [desired.release for desired in bench.installer.begun] == ["2.0.0"]


def test_bad_messages_and_files_are_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for topic, payload in (
        ("arenite/plant/pump-2/desired", b"{}"),
        ("arenite/plant/pump-1/desired", b"{}"),
        ("arenite/plant/pump-1/events", b"{}"),
    ):
        with pytest.raises(MessageError):
            bench.agent.receive(topic, payload)
    with pytest.raises(ValueError, match="limit"):
        bench.agent.record("example.large/1", text="x" * 10_000)
    assert bench.agent.record("example.small/1") == 2  # the refused event used no number
    (tmp_path / "state.json").write_text("[]")
    with pytest.raises(UsageError, match=r"state\.json is not the state of a device"):
        bench.boot("power_on")
    with pytest.raises(UsageError, match="name of a device"):
        DeviceIdentity("plant", "a/b", "x", "y")


def test_a_second_agent_in_a_folder_is_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    before = (tmp_path / "state.json").read_bytes()
    with pytest.raises(UsageError, match="Another agent already uses the folder"):
        Bench(tmp_path)
    assert (tmp_path / "state.json").read_bytes() == before
    bench.agent.close()
    Bench(tmp_path)


def test_the_folder_of_a_killed_agent_is_free(tmp_path: Path) -> None:
    program = f"""
import sys, time
from pathlib import Path
from arenite.host.fleet.agent import Agent, DeviceIdentity
from tests.host.fleet.simulated_installer import SimulatedInstaller
agent = Agent(DeviceIdentity("plant", "d1", "board", "core"), Path({str(tmp_path)!r}), SimulatedInstaller("1"))
print("ready", flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == b"ready\n"
            with pytest.raises(UsageError, match="Another agent"):
                Bench(tmp_path)
        finally:
            other.kill()
    Bench(tmp_path)
