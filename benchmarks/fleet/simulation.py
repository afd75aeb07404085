"""Simulate a fleet through hours of virtual time, while broker, server and database are killed at random."""

from __future__ import annotations

import contextlib
import itertools
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arenite.errors import ToolError
from arenite.host.fleet.clock import FileClock
from arenite.host.fleet.database import Database
from arenite.host.fleet.open_database import open_database
from arenite.host.fleet.registry import ReleaseImage, add_release
from arenite.host.fleet.rollout import Rollout, load_rollout, start_rollout
from arenite.host.fleet.rollout_settings import RolloutSettings
from benchmarks.fleet.services import Broker, Devices, Server
from benchmarks.fleet.simulated_device import BOARDS, REFERENCE, image_of

FLEET = "plant"
START_MS = 1_800_000_000_000
#: The longest real time in which everything that devices sent must be stored, in seconds, if nothing is killed
#: meanwhile.
_DRAIN_TIMEOUT_S = 600.0
#: A process that dies in the middle of a transaction, in which it has deleted all events.
_INTERRUPTED_TRANSACTION = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], 60, isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
connection.execute("DELETE FROM events")
connection.execute("DELETE FROM streams")
os.kill(os.getpid(), 9)
"""


@dataclass(frozen=True, slots=True)
class SimulationSettings:
    devices: int = 200
    hours: float = 6
    processes: int = 2
    servers: int = 1
    devices_per_connection: int = 1
    step_s: int = 900
    heartbeat_s: int = 900
    inferences_per_step: int = 24
    #: The probability that a process is killed in a step.
    kills_per_step: float = 0.5
    #: Releases in the order in which they are rolled out. The last one is good.
    releases: tuple[str, ...] = ("wrong-bytes", "slow", "drifting", "2.0.0")
    rollout: RolloutSettings = field(default_factory=lambda: RolloutSettings(soak_s=3600, min_inferences=100))
    seed: int = 0


@dataclass(slots=True)
class SimulationResult:
    devices: int
    hours: float
    recorded: int  # events that the devices recorded
    stored: int  # events in the database
    missing: int
    doubled: int
    kills: dict[str, int]
    rollouts: list[dict[str, Any]]  # release, state, wave, touched, reason
    releases: dict[str, int]  # what the devices run at the end
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class Simulation:
    """A simulation with its files in ``folder``. ``report`` gets a line now and then."""

    def __init__(
        self, settings: SimulationSettings, folder: Path, port: int, report: Callable[[str], None]
    ) -> None:
        self.settings = settings
        self._report = report
        self._random = random.Random(settings.seed)
        self._now_ms = START_MS
        self._clock_path = folder / "clock"
        self._database_path = folder / "fleet.db"
        FileClock.write(self._clock_path, self._now_ms)
        url = f"sqlite:{self._database_path}"
        self.database: Database = open_database(url)
        self._broker = Broker(folder, port)
        names = [f"worker-{k}" for k in range(settings.servers)] if settings.servers > 1 else [""]
        self._servers = [
            Server(url, FLEET, port, self._clock_path, folder / "server.log", name) for name in names
        ]
        self._kills: Counter[str] = Counter()
        bounds = [settings.devices * k // settings.processes for k in range(settings.processes + 1)]
        self._device_settings = [
            {
                "fleet": FLEET,
                "first": first,
                "last": last,
                "folder": str(folder / "devices"),
                "clock": str(self._clock_path),
                "port": port,
                "devices_per_connection": settings.devices_per_connection,
                "heartbeat_s": settings.heartbeat_s,
                "inferences_per_step": settings.inferences_per_step,
            }
            for first, last in itertools.pairwise(bounds)
        ]
        self._folder = folder
        self._devices: list[Devices] = []

    def run(self) -> SimulationResult:
        """Raises ``ToolError`` if a process ends by itself, or if events do not arrive."""
        begin = time.monotonic()
        settings = self.settings
        end_ms = START_MS + int(settings.hours * 3_600_000)
        pending = list(settings.releases)
        numbers: list[int] = []
        reported: set[int] = set()
        with self._services():
            self._add_release("1.0.0")
            while self._now_ms < end_ms:
                self._step(can_kill=True)
                if self._now_ms - START_MS < 2 * 3_600_000:
                    continue  # the devices register, and run for a while
                if not numbers or self._rollout(numbers[-1]).state in ("done", "rolled_back"):
                    if numbers and numbers[-1] not in reported:
                        reported.add(numbers[-1])
                        self._report_rollout(numbers[-1])
                    if pending:
                        numbers.append(self._start(pending.pop(0)))
            self._step(can_kill=False)
            reports = self._ask("report")
        return self._result(reports, numbers, time.monotonic() - begin)

    @contextlib.contextmanager
    def _services(self) -> Iterator[None]:
        try:
            self._broker.start()
            for server in self._servers:
                server.start()
            self._wait_for_server()
            for k, settings in enumerate(self._device_settings):
                self._devices.append(Devices(settings, self._folder / f"devices-{k}.log"))
            yield
        finally:
            for devices in self._devices:
                devices.kill()
            for server in self._servers:
                server.kill()
            self._broker.kill()
            self.database.close()

    def _step(self, *, can_kill: bool) -> None:
        """Let ``step_s`` pass, and wait until all that the devices sent is stored and the rollouts have taken a
        step."""
        self._now_ms += 1000 * self.settings.step_s
        FileClock.write(self._clock_path, self._now_ms)
        for devices in self._devices:
            devices.send("step")
        if can_kill and self._random.random() < self.settings.kills_per_step:
            self._kill(self._random.choice(("broker", "server", "both", "database")))
        for devices in self._devices:
            devices.answer()
        end = time.monotonic() + _DRAIN_TIMEOUT_S
        while sum(self._ask("pending")):
            for server in self._servers:
                server.check()
            if time.monotonic() > end:
                raise ToolError(f"Events are not stored after {_DRAIN_TIMEOUT_S:g} s.", "See server.log.")
            time.sleep(0.05)
        self._wait_for_server()

    def _kill(self, target: str) -> None:
        """Kill something at a random moment, and start it again after a random time."""
        time.sleep(self._random.uniform(0, 1))
        self._kills[target] += 1
        if target == "database":
            subprocess.run([sys.executable, "-c", _INTERRUPTED_TRANSACTION, self._database_path], check=False)
            return
        services: list[Broker | Server] = []
        services += [self._broker] if target in ("broker", "both") else []
        services += [self._random.choice(self._servers)] if target in ("server", "both") else []
        for service in services:
            service.kill()
        time.sleep(self._random.uniform(0, 1))
        for service in services:
            service.start()

    def _wait_for_server(self) -> None:
        """Wait until the server is connected and has taken a step at the present time."""
        end = time.monotonic() + _DRAIN_TIMEOUT_S
        while True:
            with self.database.transaction() as transaction:
                row = transaction.query_one("SELECT served_ms FROM fleet")
            if row is not None and row[0] == self._now_ms:
                return
            for server in self._servers:
                server.check()
            if time.monotonic() > end:
                raise ToolError("The server does not connect.", "See server.log.")
            time.sleep(0.05)

    def _ask(self, command: str) -> list[Any]:
        for devices in self._devices:
            devices.send(command)
        return [devices.answer() for devices in self._devices]

    def _add_release(self, release: str) -> None:
        images = [ReleaseImage(b, image_of(release, b), REFERENCE.to_json()) for b, _ in BOARDS]
        with self.database.transaction() as transaction:
            add_release(transaction, self._now_ms, "simulation", release, images)

    def _start(self, release: str) -> int:
        self._add_release(release)
        with self.database.transaction() as transaction:
            return start_rollout(
                transaction, self._now_ms, "simulation", release, "default", self.settings.rollout
            )

    def _rollout(self, number: int) -> Rollout:
        with self.database.transaction() as transaction:
            return load_rollout(transaction, number)

    def _report_rollout(self, number: int) -> None:
        rollout = self._rollout(number)
        hours = (self._now_ms - START_MS) / 3_600_000
        self._report(
            f"{hours:5.2f} h: {rollout.release} is {rollout.state} in wave {rollout.wave}. {rollout.reason}"
        )

    def _result(self, reports: list[Any], numbers: list[int], seconds: float) -> SimulationResult:
        recorded = {
            (name, int(epoch), sequence)
            for report in reports
            for name, epochs in report["recorded"].items()
            for epoch, last in epochs.items()
            for sequence in range(1, last + 1)
        }
        rollouts = []
        with self.database.transaction() as transaction:
            stored = transaction.query("SELECT device, epoch, sequence FROM events")
            counted = transaction.value(
                "SELECT coalesce(sum(amount), 0) FROM cohorts WHERE quantity = 'heartbeats'"
            )
            heartbeats = transaction.value("SELECT count(*) FROM events WHERE kind = 'arenite.heartbeat/1'")
            for number in numbers:
                rollout = load_rollout(transaction, number)
                rollouts.append(
                    {
                        "release": rollout.release,
                        "state": rollout.state,
                        "wave": rollout.wave,
                        "touched": transaction.value(
                            "SELECT count(*) FROM rollout_devices WHERE rollout = ?", (number,)
                        ),
                        "reason": rollout.reason,
                    }
                )
        self.database.close()
        return SimulationResult(
            devices=self.settings.devices,
            hours=(self._now_ms - START_MS) / 3_600_000,
            recorded=len(recorded),
            stored=len(stored),
            missing=len(recorded - set(stored)),
            # An event that was counted twice, or that no device recorded, is doubled.
            doubled=len(set(stored) - recorded) + len(stored) - len(set(stored)) + abs(counted - heartbeats),
            kills=dict(self._kills),
            rollouts=rollouts,
            releases=dict(sum((Counter(report["releases"]) for report in reports), Counter())),
            seconds=seconds,
        )
