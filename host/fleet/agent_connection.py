"""Connect an agent to the broker: publish what it sends, and pass on what it receives."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arenite.host.fleet.agent import Agent
from arenite.host.fleet.broker_outage import BrokerOutage
from arenite.host.fleet.messages import MessageError
from arenite.host.mqtt.broker_address import BrokerAddress
from arenite.host.mqtt.client import make_client

_BACKOFF_S = (1, 60)
_KEEPALIVE_S = 60
#: The time between two looks at what the agent wants to send, in seconds.
_INTERVAL_S = 0.5
#: How long a message about the device may take to be sent.
_STATUS_S = 2.0


@dataclass(frozen=True)
class Requests:
    """Messages to a device that are not for its agent: those on the topics that ``topic_filter`` names. ``receive`` is
    called with topic and payload, in the thread of paho-mqtt; None: nothing takes them."""

    topic_filter: str
    receive: Callable[[str, bytes], None] | None


class AgentConnection:
    """A connection of one agent, in a thread of paho-mqtt. The agent is called only by that thread and by ``run``,
    one at a time.

    Hold ``lock`` while you call the agent. ``report`` is called with a sentence for each malformed message, and
    when the broker cannot be reached: once, and again after growing times.
    """

    def __init__(
        self,
        agent: Agent,
        broker: BrokerAddress,
        report: Callable[[str], None],
        requests: Requests | None = None,
    ) -> None:
        """Raises ``UsageError`` if paho-mqtt is missing."""
        self.lock = threading.Lock()
        self._agent = agent
        self._is_reachable = True
        self._report = report
        self._outage = BrokerOutage(broker.name, report)
        identity = agent.identity
        self._client = make_client(broker, f"{identity.fleet}-{identity.device}", is_persistent=True)
        self._client.will_set(*agent.will, qos=1, retain=True)
        self._client.reconnect_delay_set(*_BACKOFF_S)
        self._client.on_connect = self._on_connect
        self._client.on_disconnect = self._on_disconnect
        self._client.on_message = self._on_message
        self._requests = requests
        if requests is not None:
            self._client.message_callback_add(requests.topic_filter, self._on_request)
        self._refuses = ", or refuses this certificate" if broker.is_encrypted else ""
        self._client.on_connect_fail = lambda *_: self._outage.begin(f"cannot be reached{self._refuses}")
        self._client.connect_async(broker.host, broker.port, _KEEPALIVE_S)

    def run(self, stop: threading.Event) -> None:
        """Serve the agent until ``stop`` is set."""
        self._client.loop_start()
        try:
            while not stop.wait(_INTERVAL_S):
                with self.lock:
                    if self._is_reachable:
                        self._agent.tick()
                    self._send()
                    waiting = self._agent.pending_events
                self._outage.tick(waiting)
        finally:
            if self._requests is not None:
                self._client.unsubscribe(self._requests.topic_filter)
            self._client.disconnect()
            self._client.loop_stop()

    def publish(self, topic: str, payload: bytes) -> None:
        """Publish a message that is not the agent's."""
        self._client.publish(topic, payload, qos=1)

    def set_reachable(self, is_reachable: bool) -> None:
        """Tell the server whether the device behind the agent answers. While it does not, there are no heartbeats."""
        with self.lock:
            if is_reachable == self._is_reachable:
                return
            self._is_reachable = is_reachable
            message = self._agent.online if is_reachable else self._agent.will
            sent = self._client.publish(*message, qos=1, retain=True)
        if self._client.is_connected():
            with contextlib.suppress(RuntimeError, ValueError):
                sent.wait_for_publish(_STATUS_S)

    def _send(self) -> None:
        message = self._agent.outgoing()
        if message is not None:
            self._client.publish(*message, qos=1)

    def _subscribe(self) -> None:
        self._client.subscribe([(topic, 1) for topic in self._agent.subscriptions])
        if self._requests is None:
            return
        # The broker keeps the subscriptions of a persistent client while it is away. It does not keep messages of QoS 0
        # for it: a request from that time must not reach the device later.
        if self._requests.receive is None:
            self._client.unsubscribe(self._requests.topic_filter)
        else:
            self._client.subscribe(self._requests.topic_filter, 0)

    def _on_connect(self, client: object, _: object, __: object, reason: object, ___: object) -> None:
        if getattr(reason, "is_failure", False):
            self._outage.begin(f"refuses the connection: {reason}")
            return
        self._outage.end()
        self._subscribe()
        with self.lock:
            online = self._agent.connected()
            self._client.publish(*(online if self._is_reachable else self._agent.will), qos=1, retain=True)
            self._send()

    def _on_disconnect(self, _: object, __: object, ___: object, reason: object, ____: object) -> None:
        with self.lock:
            self._agent.disconnected()
        if getattr(reason, "is_failure", False):
            self._outage.begin(f"ended the connection{self._refuses}: {reason}")

    def _on_message(self, client: object, _: object, message: object) -> None:
        topic, payload = str(getattr(message, "topic", "")), bytes(getattr(message, "payload", b""))
        with self.lock:
            try:
                self._agent.receive(topic, payload)
            except MessageError as error:
                self._report(f"A message of the server is malformed: {error}.")
            self._send()

    def _on_request(self, _: object, __: object, message: Any) -> None:
        # A retained request would reach the device with each new connection.
        if self._requests is not None and self._requests.receive is not None and not message.retain:
            self._requests.receive(str(message.topic), bytes(message.payload))
