"""The agent on a Linux device: it reports what the device does, and has releases installed.

The agent does no input or output on a network. Its owner passes received messages to ``receive``, calls ``tick``
regularly, and publishes the messages that ``outgoing`` returns (``agent_connection.py`` does all three). ``tick`` and
``outgoing`` return at once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from arenite.host.fleet.agent_state import AgentState, load_state, lock_folder
from arenite.host.fleet.clock import Clock, SystemClock
from arenite.host.fleet.event_kinds import BOOT, CRASH_CAUSES, HEARTBEAT, UPDATE_OUTCOME, ResetCause
from arenite.host.fleet.event_store import EventStore
from arenite.host.fleet.installer import Installer, InstallResult
from arenite.host.fleet.messages import (
    DesiredRelease,
    MessageError,
    Status,
    decode_acknowledgement,
    decode_desired,
    encode_events,
    encode_status,
)
from arenite.host.fleet.observation_source import ObservationSource
from arenite.host.fleet.observations import Observations
from arenite.host.fleet.topics import Topic, check_name, parse_topic

#: The seconds after which a batch without an acknowledgement is sent again, at first and at most.
_RETRY_S = (10.0, 300.0)


@dataclass(frozen=True, slots=True)
class DeviceIdentity:
    """The names of a device: its fleet, itself, its board and its processor core. Raises ``UsageError`` for a bad
    name."""

    fleet: str
    device: str
    board: str
    core: str

    def __post_init__(self) -> None:
        for kind in ("fleet", "device", "board", "core"):
            check_name(kind, getattr(self, kind))

    def topic(self, channel: Literal["events", "status", "acknowledged", "desired"]) -> str:
        return str(Topic(self.fleet, self.device, channel))


@dataclass(frozen=True, slots=True)
class AgentSettings:
    heartbeat_s: int = 900
    max_events: int = 10_000
    is_durable: bool = True  # whether an event survives a power cut as soon as it is recorded
    retry_s: tuple[float, float] = _RETRY_S
    # Whether a second agent in the same folder is refused. The lock is an open file for each agent.
    is_exclusive: bool = True


class Agent:
    """An agent that keeps its files in ``folder``. Creating it is the boot of the device: it records a boot event. If
    ``is_device_start`` is false, only the agent has started, so that no crash is reported again.

    ``retry_clock`` returns seconds for sending again; it never goes back. Raises ``UsageError`` and ``OSError`` for
    bad files, and ``UsageError`` if another agent uses the folder.
    """

    def __init__(
        self,
        identity: DeviceIdentity,
        folder: Path,
        installer: Installer,
        reset_cause: ResetCause = "unknown",
        *,
        is_device_start: bool = True,
        settings: AgentSettings | None = None,
        clock: Clock | None = None,
        retry_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.identity = identity
        self._settings = settings or AgentSettings()
        self._installer = installer
        self._clock = clock or SystemClock()
        self._retry_clock = retry_clock
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = lock_folder(folder) if self._settings.is_exclusive else None
        self._state_path = folder / "state.json"
        self._state: AgentState = load_state(self._state_path)
        crashed = self._crashed_release(reset_cause) if is_device_start else None
        self._running = installer.running()
        self._state.next_boot()
        self._state.release = self._running.release
        # The epoch is on the disk before an event has it, so that no epoch is used twice.
        self._save()
        self._store = EventStore(
            folder / "events.log", self._settings.max_events, is_durable=self._settings.is_durable
        )
        self._sequence = 0
        self._observations = Observations(self._running.reference)
        self._inferences = 0
        #: The counts of a device behind a gateway.
        self.source: ObservationSource | None = None
        self._last_heartbeat_ms = self._clock.now_ms()
        self._is_connected = False
        self._sent_at: float | None = None  # when the batch that waits for an acknowledgement was sent
        self._retry_s = self._settings.retry_s[0]
        self._record_boot(reset_cause, crashed)
        if self._state.installing is not None and installer.poll() is None:
            # The power may have failed before the installation began.
            installer.begin(self._state.installing)

    def close(self) -> None:
        """Let another agent use the folder. The end of the process does the same."""
        if self._lock is not None:
            self._lock.close()

    @property
    def epoch(self) -> int:
        return self._state.epoch

    @property
    def last_sequence(self) -> int:
        """The number of events of this epoch."""
        return self._sequence

    @property
    def pending_events(self) -> int:
        """The number of events that the server has not acknowledged."""
        return len(self._store)

    @property
    def is_installing(self) -> bool:
        """Whether a release is being installed, or its result was not taken up yet."""
        return self._state.installing is not None

    def has_event(self, epoch: int, sequence: int) -> bool:
        """Return whether this event waits for the server."""
        return self._store.contains(epoch, sequence)

    @property
    def will(self) -> tuple[str, bytes]:
        """The topic and the payload of the last will."""
        return self.identity.topic("status"), encode_status(Status(self.epoch, False))

    @property
    def online(self) -> tuple[str, bytes]:
        """The topic and the payload of the retained message that tells that the device is online."""
        return self.identity.topic("status"), encode_status(Status(self.epoch, True))

    @property
    def subscriptions(self) -> tuple[str, str]:
        return self.identity.topic("acknowledged"), self.identity.topic("desired")

    def record(self, schema: str, **fields: Any) -> int:
        """Keep an event, and return its sequence number. ``schema`` names the kind of event, such as
        ``example.alarm/1``. Raises ``ValueError`` if its JSON text is longer than ``MAX_BODY_BYTES``."""
        body = {"schema": schema, "time": self._clock.now_ms(), "release": self._running.release, **fields}
        text = json.dumps(body, separators=(",", ":"))
        # A sequence number is used only if the event was kept: a gap would look like a loss.
        self._store.append(self.epoch, self._sequence + 1, text)
        self._sequence += 1
        return self._sequence

    def observe(
        self, latency_us: int, input_bins: tuple[int, ...], class_index: int, confidence: int
    ) -> None:
        """Count one inference (see ``Observations.add``)."""
        self._observations.add(latency_us, input_bins, class_index, confidence)
        self._inferences += 1

    def restarted(self, reset_cause: ResetCause) -> None:
        """Record that the device behind a gateway has started again."""
        self._record_boot(reset_cause, self._crashed_release(reset_cause))

    def tick(self) -> None:
        """Record a heartbeat if one is due, and go on with an installation."""
        if self._state.installing is not None:
            result = self._installer.poll()
            if result is not None:
                self._finish_installation(self._state.installing, result)
        now = self._clock.now_ms()
        if now < self._last_heartbeat_ms:  # somebody set the clock back
            self._last_heartbeat_ms = now
        if now - self._last_heartbeat_ms >= 1000 * self._settings.heartbeat_s:
            self.heartbeat()

    def connected(self) -> tuple[str, bytes]:
        """Begin to send, and return the retained message that tells that the device is online."""
        self._is_connected = True
        self._sent_at = None
        return self.online

    def disconnected(self) -> None:
        self._is_connected = False

    def outgoing(self) -> tuple[str, bytes] | None:
        """Return the topic and payload of a batch of events to publish now, or None."""
        if not self._is_connected or not len(self._store):
            return None
        now = self._retry_clock()
        if self._sent_at is not None:
            if now - self._sent_at < self._retry_s:
                return None
            self._retry_s = min(2 * self._retry_s, self._settings.retry_s[1])
        batch = self._store.oldest_batch()
        assert batch is not None
        self._sent_at = now
        return self.identity.topic("events"), encode_events(batch)

    def receive(self, topic: str, payload: bytes) -> None:
        """Obey a message of the server. Raises ``MessageError`` if it is malformed."""
        parsed = parse_topic(topic)
        if parsed is None or (parsed.fleet, parsed.device) != (self.identity.fleet, self.identity.device):
            raise MessageError(f"the topic {topic[:100]} is not one of this device")
        if parsed.channel == "acknowledged":
            acknowledgement = decode_acknowledgement(payload)
            if self._store.acknowledge(acknowledgement.epoch, acknowledgement.sequence):
                self._sent_at, self._retry_s = None, self._settings.retry_s[0]
            if acknowledgement.desired is not None:
                self._take_up(acknowledgement.desired)
        elif parsed.channel == "desired":
            self._take_up(decode_desired(payload))
        else:
            raise MessageError(f"a device gets no messages on {parsed.channel}")

    def _take_up(self, desired: DesiredRelease) -> None:
        # An installation cannot be stopped. The next acknowledgement tells a newer wish again.
        if desired.generation <= self._state.generation or self._state.installing is not None:
            return
        self._state.generation = desired.generation
        if desired.release == self._running.release:
            self._save()
            self._record_outcome(desired, InstallResult("unchanged"))
            return
        # The statistics so far belong to the release that ran.
        self.heartbeat()
        self._state.installing = desired
        self._save()
        self._installer.begin(desired)

    def _finish_installation(self, desired: DesiredRelease, result: InstallResult) -> None:
        self.heartbeat()
        self._running = self._installer.running()
        self._observations = Observations(self._running.reference)
        self._record_outcome(desired, result)
        self._state.installing = None
        self._state.release = self._running.release
        self._save()

    def _record_outcome(self, desired: DesiredRelease, result: InstallResult) -> None:
        self.record(
            UPDATE_OUTCOME,
            desired=desired.release,
            generation=desired.generation,
            outcome=result.outcome,
            reason=result.reason[:500],
            golden=None if result.golden is None else result.golden.to_json(),
            firmware=self._running.firmware,
            model=self._running.model,
            abi=self._running.abi,
        )

    def heartbeat(self) -> None:
        """Record what was observed since the last heartbeat."""
        now = self._clock.now_ms()
        if self.source is not None:
            self._inferences += self.source.take(self.epoch, self._sequence + 1, self._observations)
        self.record(
            HEARTBEAT,
            generation=self._state.generation,
            covered_ms=max(now - self._last_heartbeat_ms, 0),
            inferences=self._inferences,
            dropped_events=self._store.dropped,
            **self._observations.to_json(),
        )
        if self.source is not None:
            self.source.taken()
        self._last_heartbeat_ms = now
        self._inferences = 0
        self._observations = Observations(self._running.reference)

    def _record_boot(self, reset_cause: ResetCause, crashed_release: str | None) -> None:
        self.record(
            BOOT,
            board=self.identity.board,
            core=self.identity.core,
            generation=self._state.generation,
            firmware=self._running.firmware,
            model=self._running.model,
            abi=self._running.abi,
            reset_cause=reset_cause,
            crashed_release=crashed_release,
        )

    def _crashed_release(self, reset_cause: ResetCause) -> str | None:
        return self._state.release if reset_cause in CRASH_CAUSES and self._state.release else None

    def _save(self) -> None:
        self._state.save(self._state_path, is_durable=self._settings.is_durable)
