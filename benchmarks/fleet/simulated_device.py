"""A simulated device: the real agent, above an installer and inferences that are made up."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from arenite.host.fleet.agent import Agent, AgentSettings, DeviceIdentity
from arenite.host.fleet.clock import Clock
from arenite.host.fleet.event_kinds import ResetCause
from arenite.host.fleet.installer import GoldenResult, InstallResult, RunningRelease
from arenite.host.fleet.messages import DesiredRelease
from arenite.host.fleet.observations import DriftReference

#: The kinds of boards of the fleet, with their cores.
BOARDS = (
    ("qemu_microbit", "cortex-m0"),
    ("qemu_mps2_an385", "cortex-m3"),
    ("qemu_mps2_an386", "cortex-m4f"),
    ("qemu_mps2_an500", "cortex-m7"),
    ("qemu_mps2_an505", "cortex-m33"),
    ("qemu_mps3_an547", "cortex-m55"),
    ("qemu_riscv32", "rv32imc"),
    ("qemu_xtensa_lx106", "lx106"),
)
#: The calibration data: bell-shaped statistics of the inputs, and three classes.
REFERENCE = DriftReference(
    (
        (0, 2, 10, 40, 120, 260, 420, 500, 500, 420, 260, 120, 40, 10, 2, 0),
        (300, 500, 400, 250, 120, 50, 20, 10, 5, 2, 1, 0, 0, 0, 0, 0),
    ),
    (500, 300, 200),
)


@dataclass(frozen=True, slots=True)
class ReleaseBehavior:
    """What a release does on a device. ``golden_cores`` are the cores on which the golden self-test finds wrong
    bytes."""

    latency_us: int = 20_000
    class_weights: tuple[int, ...] = REFERENCE.classes
    golden_cores: frozenset[str] = frozenset()
    crashes_per_hour: float = 0.002
    #: Devices with this release send nothing more.
    is_dead: bool = False


#: Releases by name. All names are of good releases unless they are here.
BEHAVIORS = {
    "wrong-bytes": ReleaseBehavior(golden_cores=frozenset({"cortex-m33"})),
    "slow": ReleaseBehavior(latency_us=34_000),
    "drifting": ReleaseBehavior(class_weights=(150, 150, 700)),
    "crashing": ReleaseBehavior(crashes_per_hour=1.0),
    "dead": ReleaseBehavior(is_dead=True),
}
GOOD = ReleaseBehavior()


def image_of(release: str, board: str) -> str:
    """Return the SHA-256 hash of the image that a release has for a board."""
    return hashlib.sha256(f"{release} {board}".encode()).hexdigest()


class SimulatedInstaller:
    """An installer whose installation takes ``install_s`` seconds. It remembers everything through restarts of the
    agent."""

    def __init__(self, identity: DeviceIdentity, clock: Clock, release: str, install_s: int = 300) -> None:
        self._identity = identity
        self._clock = clock
        self._install_s = install_s
        self.release = release
        self._desired: DesiredRelease | None = None
        self._end_ms = 0
        self._result: InstallResult | None = None

    def running(self) -> RunningRelease:
        firmware, model, abi = (
            hashlib.sha256(f"{part} {self.release} {self._identity.board}".encode()).hexdigest()
            for part in ("firmware", "model", "abi")
        )
        return RunningRelease(self.release, firmware, model, abi, REFERENCE)

    def begin(self, desired: DesiredRelease) -> None:
        if desired != self._desired:
            self._desired, self._result = desired, None
            self._end_ms = self._clock.now_ms() + 1000 * self._install_s

    def poll(self) -> InstallResult | None:
        desired = self._desired
        if desired is None or self._clock.now_ms() < self._end_ms:
            return self._result
        if self._result is None:
            golden = GoldenResult(
                8, 2 if self._identity.core in behavior_of(desired.release).golden_cores else 0
            )
            if golden.failures:
                self._result = InstallResult("put_back", "the golden self-test found wrong bytes", golden)
            else:
                self.release = desired.release
                self._result = InstallResult("installed", "", golden)
        return self._result


def behavior_of(release: str) -> ReleaseBehavior:
    return BEHAVIORS.get(release, GOOD)


@dataclass(slots=True)
class SimulatedDevice:
    """A device in ``folder``. ``step`` simulates the time since the last step. ``recorded`` is called with the epoch
    and the number of every event that the agent keeps."""

    identity: DeviceIdentity
    folder: Path
    clock: Clock
    retry_clock: Callable[[], float]
    release: str
    settings: AgentSettings
    inferences_per_step: int = 8
    random: random.Random = field(init=False)
    installer: SimulatedInstaller = field(init=False)
    agent: Agent = field(init=False)
    #: The numbers of recorded events in the epochs so far.
    recorded: dict[int, int] = field(default_factory=dict)
    _last_ms: int = 0
    _is_running: bool = False

    def __post_init__(self) -> None:
        self.random = random.Random(f"{self.identity.device}")
        self.installer = SimulatedInstaller(self.identity, self.clock, self.release)
        self._last_ms = self.clock.now_ms()
        self.boot("power_on")

    @property
    def is_dead(self) -> bool:
        return behavior_of(self.installer.release).is_dead

    def step(self) -> None:
        """Run inferences, crash sometimes, and let the agent work."""
        now_ms = self.clock.now_ms()
        hours = (now_ms - self._last_ms) / 3_600_000
        self._last_ms = now_ms
        if self.is_dead:
            return
        behavior = behavior_of(self.installer.release)
        draw = self.random
        bins = [draw.choices(range(len(c)), c, k=self.inferences_per_step) for c in REFERENCE.inputs]
        classes = draw.choices(
            range(len(behavior.class_weights)), behavior.class_weights, k=self.inferences_per_step
        )
        for first, second, class_index in zip(*bins, classes, strict=True):
            latency_us = int(behavior.latency_us * draw.uniform(0.95, 1.05))
            self.agent.observe(latency_us, (first, second), class_index, 12)
        if draw.random() < behavior.crashes_per_hour * hours:
            self.boot("watchdog")
        self.agent.tick()
        self.note_recorded()

    def note_recorded(self) -> None:
        """Note how many events the agent has recorded in this epoch."""
        self.recorded[self.agent.epoch] = self.agent.last_sequence

    def boot(self, cause: ResetCause) -> None:
        """Restart the agent, as a reset of the device does."""
        if self._is_running:
            self.note_recorded()
        self._is_running = True
        self.agent = Agent(
            self.identity,
            self.folder,
            self.installer,
            cause,
            settings=self.settings,
            clock=self.clock,
            retry_clock=self.retry_clock,
        )
        self.note_recorded()
