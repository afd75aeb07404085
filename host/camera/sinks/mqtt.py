"""Publish answers to an MQTT broker. The loop never waits for the network."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.sinks.mqtt_url import parse_broker
from arenite.host.camera.sinks.writer import to_stderr
from arenite.host.mqtt.client import make_client

#: The maximum number of messages that the client holds and that are not yet sent (QoS 0) or acknowledged (QoS 1 and 2).
_MAX_IN_FLIGHT = 16
#: The shortest and the longest delay before the client reconnects, in seconds.
_BACKOFF_S = (1, 30)
#: A broker that has not answered within this number of seconds is reported. The client tries again later.
_ANSWER_TIMEOUT_S = 10.0
#: The time in seconds between two checks of the connection and of messages that wait for an acknowledgement.
_CHECK_INTERVAL_S = 0.5


class MqttSink:
    """Publishes the JSON of each frame under the topic. Under ``TOPIC/status`` it publishes the retained message
    ``online`` or ``offline``; the broker itself publishes ``offline`` when this process dies (MQTT's last will).

    A broker that is slow or cannot be reached does not delay the loop: at most ``queue`` frames wait, and
    older frames are dropped. ``sent`` and ``lost`` count frames. The sink reconnects with a growing delay. Each outage
    is reported once.
    """

    def __init__(self, url: str, *, queue: int = 32, report: Callable[[str], None] = to_stderr) -> None:
        """Begin to connect in the background. Raises ``UsageError`` if ``url`` is malformed or paho-mqtt is missing."""
        self.broker = parse_broker(url)
        self._report = report
        self.sent = self.lost = 0
        self.connected = False
        self._outage_reported = False  # whether the present outage was reported
        self._frames: deque[ServedFrame] = deque(maxlen=queue)
        self._state = threading.Condition()
        self._ending = False
        self._started = time.monotonic()
        self._client = self._create_client()
        self._client.connect_async(self.broker.address.host, self.broker.address.port, keepalive=30)
        self._client.loop_start()
        self._thread = threading.Thread(target=self._run, name="arenite-mqtt", daemon=True)
        self._thread.start()

    def take(self, served: ServedFrame, frame: Frame | None) -> None:
        with self._state:
            if len(self._frames) == self._frames.maxlen:
                self.lost += 1
            self._frames.append(served)
            if self.connected:
                self._state.notify_all()

    def close(self, wait_s: float = 2.0) -> None:
        """Send the frames that wait, for at most ``wait_s`` seconds, and publish ``offline``."""
        with self._state:
            if self._ending:
                return
            self._ending = True
            self._state.notify_all()
        end = time.monotonic() + wait_s
        self._thread.join(wait_s)
        if self.connected:
            last = self._client.publish(self.broker.status, "offline", qos=1, retain=True)
            self._wait(last, max(end - time.monotonic(), 0.1))
        self._client.disconnect()
        self._client.loop_stop()

    def _create_client(self) -> Any:
        b = self.broker
        client = make_client(b.address, b.client, is_persistent=False, extra="mqtt")
        client.will_set(b.status, "offline", qos=1, retain=True)
        client.reconnect_delay_set(*_BACKOFF_S)
        client.on_connect, client.on_disconnect = self._on_connect, self._on_disconnect
        client.on_connect_fail = lambda *_: self._outage("it cannot be reached")
        return client

    def _on_connect(self, client: Any, _: Any, __: Any, reason: Any, ___: Any) -> None:
        if reason.is_failure:
            self._outage(f"it refused: {reason}")
            return
        client.publish(self.broker.status, "online", qos=1, retain=True)
        with self._state:
            is_back, self._outage_reported = self._outage_reported, False
            self.connected = True
            self._state.notify_all()
        if is_back:
            self._report(f"Connected to {self.broker.name}.")

    def _on_disconnect(self, _: Any, __: Any, ___: Any, reason: Any, ____: Any) -> None:
        with self._state:
            was_connected, self.connected = self.connected, False
            self._state.notify_all()
        if was_connected and not self._ending:
            self._outage(f"the connection was lost: {reason}")
        elif not self._ending:
            self._outage(f"it accepted the connection, but ended it without an answer: {reason}")

    def _outage(self, reason: str) -> None:
        """Report an outage, unless the present outage was already reported."""
        with self._state:
            is_new, self._outage_reported = not self._outage_reported, True
        if is_new:
            self._report(f"MQTT broker {self.broker.name}: {reason}. Trying again; the loop continues.")

    def _run(self) -> None:
        """Send frames until the sink is closed. This runs in a thread."""
        in_flight: deque[Any] = deque()
        while True:
            with self._state:
                self._state.wait_for(
                    lambda: self._ending or (self.connected and self._frames),
                    _CHECK_INTERVAL_S if in_flight or not self.connected else None,
                )
                served = self._frames.popleft() if self._frames and self.connected else None
                ending = self._ending
            if served is None:
                if ending:
                    break
                if not self.connected and time.monotonic() > self._started + _ANSWER_TIMEOUT_S:
                    # The network connection may exist, but the broker did not accept the session.
                    self._outage(f"it did not answer within {_ANSWER_TIMEOUT_S:g} s")
                self._settle(in_flight, _MAX_IN_FLIGHT)
                continue
            # Format the text in this thread and only now, so that the loop does not wait and a dropped frame costs no
            # time.
            text = json.dumps(served.to_json(), separators=(",", ":"), default=str)
            b = self.broker
            in_flight.append(self._client.publish(b.topic, text, qos=b.qos, retain=b.retain))
            self._settle(in_flight, _MAX_IN_FLIGHT)
        self._settle(in_flight, 0)

    def _settle(self, in_flight: deque[Any], allowed: int) -> None:
        """Count the messages that were sent or lost, and wait until at most ``allowed`` messages are in flight, or
        until the connection is lost."""
        while in_flight:
            sent = _is_sent(in_flight[0])
            if sent is None:
                if len(in_flight) <= allowed or not self.connected:
                    return
                self._wait(in_flight[0], 0.5)
            else:
                in_flight.popleft()
                self.sent += sent
                self.lost += not sent

    def _wait(self, info: Any, seconds: float) -> None:
        # The client raises for a message that was lost with the connection.
        with contextlib.suppress(ValueError, RuntimeError):
            info.wait_for_publish(seconds)


def _is_sent(info: Any) -> bool | None:
    """Return True if a message has reached the network (QoS 0) or the broker, False if it was lost, and None if neither
    has happened yet."""
    try:
        return True if info.is_published() else None
    except (ValueError, RuntimeError):
        return False
