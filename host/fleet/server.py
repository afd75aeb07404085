"""The server of a fleet: it receives events from the broker, stores them, and runs the rollouts.

It has no state of its own. Messages that are not stored stay in the broker or with the devices, and rollouts are in
the database.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from arenite.errors import AreniteError
from arenite.host.fleet.clock import Clock
from arenite.host.fleet.database import Database, DatabaseError
from arenite.host.fleet.ingest import ingest, set_status
from arenite.host.fleet.messages import (
    EventBatch,
    MessageError,
    Status,
    decode_events,
    decode_status,
    encode_acknowledgement,
    encode_desired,
)
from arenite.host.fleet.registry import note_serving
from arenite.host.fleet.rollout_engine import advance_rollouts
from arenite.host.fleet.topics import Channel, Topic, all_devices, parse_topic
from arenite.host.mqtt.broker_address import BrokerAddress
from arenite.host.mqtt.client import make_client

_BACKOFF_S = (1, 30)
_KEEPALIVE_S = 30
#: The largest number of messages that are stored in one transaction.
_MAX_BATCHES = 500
#: The time between two steps of the rollouts, in seconds.
STEP_S = 1.0
#: After a step, messages have at least this many times the time that the step took.
_MESSAGE_SHARE = 9
#: The delays before a transaction is tried again, in seconds.
_DATABASE_RETRY_S = (0.2, 10.0)
#: The number of messages that the broker may send before the first of them is stored.
_MAX_IN_FLIGHT = 1000


@dataclass(slots=True)
class _Received:
    """A message, and the connection that it came by."""

    connection: int
    message: Any
    device: str
    content: EventBatch | Status


@dataclass(slots=True)
class ServerCounters:
    """What this process has done since it was started."""

    messages: Counter[str] = field(default_factory=Counter)  # by channel, and ``malformed``
    database_errors: int = 0
    connections: int = 0


class FleetServer:
    """A server of ``fleet``. ``report`` is called with a sentence for each outage.

    Without ``worker``, the server gets all messages, also those that the broker kept for it while it was away.
    Several servers of one fleet need a ``worker`` name each; then the broker gives each message to one of them.
    Raises ``UsageError`` if paho-mqtt is missing.
    """

    def __init__(
        self,
        database: Database,
        fleet: str,
        broker: BrokerAddress,
        clock: Clock,
        report: Callable[[str], None],
        worker: str = "",
        step_s: float = STEP_S,
    ) -> None:
        self.counters = ServerCounters()
        self._database = database
        self._fleet = fleet
        self._broker = broker
        self._clock = clock
        self._report = report
        self._is_shared = bool(worker)
        self._step_s = step_s
        self._received: queue.Queue[_Received] = queue.Queue()
        self._connection = 0
        self.is_connected = False
        self._is_outage_reported = False
        # A message that a worker of a group left unfinished would wait for its return, so workers begin anew, and
        # devices send again.
        name = f"arenite-fleet-{fleet}" + (f"-{worker}" if worker else "")
        self._client = make_client(broker, name, is_persistent=not worker, manual_ack=True)
        self._client.reconnect_delay_set(*_BACKOFF_S)
        self._client.max_inflight_messages_set(_MAX_IN_FLIGHT)
        self._client.on_connect = self._on_connect
        self._client.on_disconnect = self._on_disconnect
        self._client.on_connect_fail = lambda *_: self._outage("it cannot be reached")
        self._client.on_message = self._on_message

    def run(self, stop: threading.Event) -> None:
        """Serve until ``stop`` is set."""
        self._client.connect_async(self._broker.host, self._broker.port, _KEEPALIVE_S)
        self._client.loop_start()
        next_step = time.monotonic()
        try:
            while not stop.is_set():
                self._store(self._take(), stop)
                begin = time.monotonic()
                if begin >= next_step:
                    self._step(stop)
                    # Steps of a large fleet must leave time for its messages.
                    end = time.monotonic()
                    next_step = end + max(self._step_s, _MESSAGE_SHARE * (end - begin))
        finally:
            self._client.disconnect()
            self._client.loop_stop()
            self._database.close()

    def _take(self) -> list[_Received]:
        """Return the messages that have arrived. Wait a little if there is none."""
        items: list[_Received] = []
        try:
            items.append(self._received.get(timeout=0.2))
            while len(items) < _MAX_BATCHES:
                items.append(self._received.get_nowait())
        except queue.Empty:
            pass
        return items

    def _store(self, items: list[_Received], stop: threading.Event) -> None:
        """Store messages, acknowledge them to their devices, and then to the broker."""
        if not items:
            return
        try:
            acknowledgements = self._in_transaction(lambda t: self._store_in(t, items), stop)
        except AreniteError:
            raise
        except Exception as error:
            if len(items) > 1:
                # One of the messages is the cause. The others are stored.
                for item in items:
                    self._store([item], stop)
                return
            self.counters.messages["refused"] += 1
            self._report(f"A message of {items[0].device} cannot be stored: {type(error).__name__}: {error}.")
            acknowledgements = []
        if acknowledgements is None:
            return
        for device, acknowledgement in acknowledgements:
            # A device that misses the acknowledgement sends its events again.
            self._client.publish(
                self._topic(device, "acknowledged"), encode_acknowledgement(acknowledgement), 0
            )
        for item in items:
            if item.connection == self._connection:
                self._client.ack(item.message.mid, item.message.qos)

    def _store_in(self, transaction: Any, items: list[_Received]) -> Any:
        batches = [(item.device, item.content) for item in items if isinstance(item.content, EventBatch)]
        acknowledgements = ingest(transaction, self._clock.now_ms(), batches)
        for item in items:
            if isinstance(item.content, Status):
                set_status(transaction, item.device, item.content)
        return acknowledgements

    def _step(self, stop: threading.Event) -> None:
        """Take a step with each rollout, and tell devices what they should run."""
        if self.is_connected:
            self._in_transaction(lambda t: note_serving(t, self._clock.now_ms()), stop)
        try:
            pushes = advance_rollouts(self._database, self._clock)
        except DatabaseError as error:
            self._database_failed(error)
            return
        for device, desired in pushes:
            self._client.publish(self._topic(device, "desired"), encode_desired(desired), 1)

    def _in_transaction(self, work: Callable[[Any], Any], stop: threading.Event) -> Any:
        """Do ``work`` in a transaction, again and again until the database takes it. Return None if ``stop`` is set
        before."""
        delay_s, longest_s = _DATABASE_RETRY_S
        while True:
            try:
                with self._database.transaction() as transaction:
                    return work(transaction)
            except DatabaseError as error:
                self._database_failed(error)
                if stop.wait(delay_s):
                    return None
                delay_s = min(2 * delay_s, longest_s)

    def _database_failed(self, error: DatabaseError) -> None:
        self.counters.database_errors += 1
        self._report(f"{error.problem} Trying again; nothing is lost.")

    def _topic(self, device: str, channel: Channel) -> str:
        return str(Topic(self._fleet, device, channel))

    def _on_connect(self, client: Any, _: Any, __: Any, reason: Any, ___: Any) -> None:
        if reason.is_failure:
            self._outage(f"it refused: {reason}")
            return
        prefix = f"$share/arenite-fleet-{self._fleet}/" if self._is_shared else ""
        client.subscribe(
            [(prefix + all_devices(self._fleet, channel), 1) for channel in ("events", "status")]
        )
        self._connection += 1
        self.counters.connections += 1
        self.is_connected = True
        if self._is_outage_reported:
            self._is_outage_reported = False
            self._report(f"Connected to {self._broker.name}.")

    def _on_disconnect(self, _: Any, __: Any, ___: Any, reason: Any, ____: Any) -> None:
        self.is_connected = False
        # Messages of the old connection are stored, but the broker sends them again.
        self._connection += 1
        if reason.is_failure:
            self._outage(f"the connection was lost: {reason}")

    def _outage(self, reason: str) -> None:
        if not self._is_outage_reported:
            self._is_outage_reported = True
            self._report(f"The broker {self._broker.name}: {reason}. Trying again.")

    def _on_message(self, client: Any, _: Any, message: Any) -> None:
        topic = parse_topic(message.topic)
        try:
            if topic is None or topic.fleet != self._fleet:
                raise MessageError("its topic is not one of the fleet")
            content: EventBatch | Status
            if topic.channel == "events":
                content = decode_events(message.payload)
            elif topic.channel == "status":
                content = decode_status(message.payload)
            else:
                raise MessageError("its topic is not one that devices publish to")
        except MessageError as error:
            if not self.counters.messages["malformed"]:
                self._report(f"A message on {message.topic[:100]!r} is malformed, and so ignored: {error}.")
            self.counters.messages["malformed"] += 1
            client.ack(message.mid, message.qos)
            return
        self.counters.messages[topic.channel] += 1
        self._received.put(_Received(self._connection, message, topic.device, content))
