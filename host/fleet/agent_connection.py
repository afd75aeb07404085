"""Connect an agent to the broker: publish what it sends, and pass on what it receives."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from arenite.host.fleet.agent import Agent
from arenite.host.fleet.broker_address import BrokerAddress, make_client
from arenite.host.fleet.messages import MessageError

_BACKOFF_S = (1, 60)
_KEEPALIVE_S = 60
#: The time between two looks at what the agent wants to send, in seconds.
_INTERVAL_S = 0.5
#: How long a message about the device may take to be sent.
_STATUS_S = 2.0


class AgentConnection:
    """A connection of one agent, in a thread of paho-mqtt. The agent is called only by that thread and by ``run``,
    one at a time.

    Hold ``lock`` while you call the agent. ``report`` is called with a sentence for each malformed message.
    """

    def __init__(self, agent: Agent, broker: BrokerAddress, report: Callable[[str], None]) -> None:
        """Raises ``UsageError`` if paho-mqtt is missing."""
        self.lock = threading.Lock()
        self._agent = agent
        self._is_reachable = True
        self._report = report
        identity = agent.identity
        self._client = make_client(broker, f"{identity.fleet}-{identity.device}", is_persistent=True)
        self._client.will_set(*agent.will, qos=1, retain=True)
        self._client.reconnect_delay_set(*_BACKOFF_S)
        self._client.on_connect = self._on_connect
        self._client.on_disconnect = self._on_disconnect
        self._client.on_message = self._on_message
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
        finally:
            self._client.disconnect()
            self._client.loop_stop()

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

    def _on_connect(self, client: object, _: object, __: object, reason: object, ___: object) -> None:
        if getattr(reason, "is_failure", False):
            self._report(f"The broker refused the connection: {reason}.")
            return
        self._client.subscribe([(topic, 1) for topic in self._agent.subscriptions])
        with self.lock:
            online = self._agent.connected()
            self._client.publish(*(online if self._is_reachable else self._agent.will), qos=1, retain=True)
            self._send()

    def _on_disconnect(self, *_: object) -> None:
        with self.lock:
            self._agent.disconnected()

    def _on_message(self, client: object, _: object, message: object) -> None:
        topic, payload = str(getattr(message, "topic", "")), bytes(getattr(message, "payload", b""))
        with self.lock:
            try:
                self._agent.receive(topic, payload)
            except MessageError as error:
                self._report(f"A message of the server is malformed: {error}.")
            self._send()
