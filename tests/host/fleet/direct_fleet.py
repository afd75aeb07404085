"""A small fleet in one process: real agents and the real registry, with a function call instead of a broker."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

from arenite.host.fleet.agent import AgentSettings, DeviceIdentity
from arenite.host.fleet.database import Database
from arenite.host.fleet.ingest import ingest
from arenite.host.fleet.messages import decode_events, encode_acknowledgement, encode_desired
from arenite.host.fleet.registry import ReleaseImage, add_release, note_serving
from arenite.host.fleet.rollout import Rollout, load_rollout, start_rollout
from arenite.host.fleet.rollout_engine import advance_rollouts
from arenite.host.fleet.rollout_settings import RolloutSettings
from benchmarks.fleet.simulated_device import BOARDS, REFERENCE, SimulatedDevice, image_of

ALL_BOARDS = tuple(board for board, _ in BOARDS)
START_MS = 1_800_000_000_000
#: Short waves, for about 50 devices with a heartbeat each 15 minutes. The first wave has a device of each board.
SETTINGS = RolloutSettings(waves=(160, 400, 1000), soak_s=2 * 3600, min_inferences=60, max_wave_s=12 * 3600)


class SetClock:
    def __init__(self) -> None:
        self.ms = START_MS

    def now_ms(self) -> int:
        return self.ms


class DirectFleet:
    """``count`` devices that run release 1.0.0. The boards take turns. A share ``loss`` of the messages in each
    direction is lost."""

    def __init__(self, database: Database, folder: Path, count: int, loss: float = 0.0) -> None:
        self.database = database
        self.clock = SetClock()
        self._loss = loss
        self._random = random.Random(1)
        self.unreachable: set[str] = set()
        self.devices: dict[str, SimulatedDevice] = {}
        for k in range(count):
            board, core = BOARDS[k % len(BOARDS)]
            identity = DeviceIdentity("plant", f"d{k:04}", board, core)
            self.devices[identity.device] = SimulatedDevice(
                identity,
                folder / identity.device,
                self.clock,
                lambda: self.clock.ms / 1000,
                "1.0.0",
                AgentSettings(is_durable=False, retry_s=(60.0, 600.0), is_exclusive=False),
                inferences_per_step=24,
            )
        self.add_release("1.0.0")

    def add_release(self, release: str, boards: Iterable[str] = ALL_BOARDS) -> None:
        images = [ReleaseImage(board, image_of(release, board), REFERENCE.to_json()) for board in boards]
        with self.database.transaction() as transaction:
            add_release(transaction, self.clock.ms, "ann", release, images)

    def start(self, release: str, settings: RolloutSettings = SETTINGS) -> int:
        self.add_release(release)
        with self.database.transaction() as transaction:
            return start_rollout(transaction, self.clock.ms, "ann", release, "default", settings)

    def rollout(self, number: int) -> Rollout:
        with self.database.transaction() as transaction:
            return load_rollout(transaction, number)

    def run(self, hours: float, *, step_s: int = 900, server: bool = True) -> None:
        """Let time pass. Without ``server``, nobody receives what devices send."""
        end_ms = self.clock.ms + int(hours * 3_600_000)
        while self.clock.ms < end_ms:
            self.clock.ms += 1000 * step_s
            for device in self.devices.values():
                device.step()
            if server:
                self.exchange()
                with self.database.transaction() as transaction:
                    note_serving(transaction, self.clock.ms)
                for name, desired in advance_rollouts(self.database, self.clock):
                    if name not in self.unreachable and not self._is_lost():
                        agent = self.devices[name].agent
                        agent.receive(agent.subscriptions[1], encode_desired(desired))

    def run_until(self, number: int, *states: str, hours: float = 48) -> Rollout:
        """Let time pass until the rollout has one of the states."""
        end_ms = self.clock.ms + int(hours * 3_600_000)
        while (rollout := self.rollout(number)).state not in states:
            assert self.clock.ms < end_ms, (
                f"the rollout is {rollout.state} in wave {rollout.wave}: {rollout.reason}"
            )
            self.run(0.25)
        return rollout

    def exchange(self) -> None:
        """Exchange messages until the devices have nothing to send, or wait for an answer that was lost."""
        for name, device in self.devices.items():
            if name in self.unreachable or device.is_dead:
                device.agent.disconnected()
            else:
                device.agent.connected()
        while True:
            batches = []
            for name, device in self.devices.items():
                message = device.agent.outgoing()
                if message is not None and not self._is_lost():
                    # Now and then a message arrives twice.
                    batches += [(name, decode_events(message[1]))] * (2 if self._is_lost() else 1)
            if not batches:
                return
            with self.database.transaction() as transaction:
                acknowledgements = ingest(transaction, self.clock.ms, batches)
            for name, acknowledgement in acknowledgements:
                if not self._is_lost():
                    agent = self.devices[name].agent
                    agent.receive(agent.subscriptions[0], encode_acknowledgement(acknowledgement))

    def _is_lost(self) -> bool:
        return self._random.random() < self._loss

    def stored(self) -> dict[str, dict[int, list[int]]]:
        """Return the numbers of the events in the registry, for each device and epoch."""
        result: dict[str, dict[int, list[int]]] = {}
        with self.database.transaction() as transaction:
            for device, epoch, sequence in transaction.query(
                "SELECT device, epoch, sequence FROM events ORDER BY device, epoch, sequence"
            ):
                result.setdefault(device, {}).setdefault(epoch, []).append(sequence)
        return result

    def recorded(self) -> dict[str, dict[int, list[int]]]:
        """Return the numbers of the events that the agents recorded."""
        return {
            name: {epoch: list(range(1, last + 1)) for epoch, last in device.recorded.items()}
            for name, device in self.devices.items()
        }

    def touched(self, number: int) -> set[str]:
        """Return the devices that a rollout chose."""
        with self.database.transaction() as transaction:
            rows = transaction.query("SELECT device FROM rollout_devices WHERE rollout = ?", (number,))
        return {row[0] for row in rows}
