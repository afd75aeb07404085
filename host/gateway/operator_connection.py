"""An operator's connection to the broker: it publishes requests to one device and receives the answers.

It speaks MQTT 5, so that the broker tells which requests it refuses, and which nobody receives.
"""

from __future__ import annotations

import queue
import secrets
import ssl
import threading
import time
from typing import Any

from arenite.errors import DeviceError
from arenite.host.fleet.messages import MessageError, Status, decode_status
from arenite.host.fleet.topics import Topic, smp_topic
from arenite.host.gateway.device_url import DeviceUrl
from arenite.host.gateway.smp_messages import SmpAnswer, decode_smp_answer
from arenite.host.link.transport import PortGoneError
from arenite.host.mqtt.client import make_client

_KEEPALIVE_S = 10
_CONNECT_S = 10.0
_BACKOFF_S = (1, 2)
#: Reason codes of MQTT 5.
_NO_SUBSCRIBERS, _WRONG_VERSION, _NOT_AUTHORIZED = 0x10, 0x84, 0x87
#: A connection that is lost so often within this number of seconds is given up: another program uses the same
#: certificate, and the broker ends the connection of each program for that of the other.
_MAX_LOSSES, _LOSSES_S = 4, 15.0


class OperatorConnection:
    """A connection to the broker of ``url``, which comes back by itself.

    Raises:
        DeviceError: The broker cannot be reached, or refuses the connection.
        UsageError: A certificate cannot be used, or a package is missing.
    """

    def __init__(self, url: DeviceUrl) -> None:
        self.url = url
        #: What the fleet's retained message tells about the device, or None if there is none.
        self.status: Status | None = None
        #: Whether the broker knows of nobody who receives the last request.
        self.has_no_receiver = False
        self._request_topic = smp_topic(url.fleet, url.device, "request", url.operator)
        self._answer_topic = smp_topic(url.fleet, url.device, "answer", url.operator)
        self._status_topic = str(Topic(url.fleet, url.device, "status"))
        self._answers: queue.Queue[SmpAnswer | DeviceError] = queue.Queue()
        self._ready = threading.Event()  # connected and subscribed
        self._ended = threading.Event()  # refused, before it was ready
        self._refusal = ""
        self._losses: list[float] = []
        self._client = make_client(
            url.broker,
            f"arenite-operator-{secrets.token_hex(8)}",
            is_persistent=False,
            is_version_5=True,
        )
        self._client.reconnect_delay_set(*_BACKOFF_S)
        self._client.on_connect = self._on_connect
        self._client.on_disconnect = self._on_disconnect
        self._client.on_subscribe = self._on_subscribe
        self._client.on_publish = self._on_publish
        self._client.on_message = self._on_message
        self._connect()

    def publish(self, payload: bytes) -> None:
        """Send a request. It is lost if there is no connection."""
        if self._ready.is_set():
            self._client.publish(self._request_topic, payload, qos=1)

    def take(self, timeout_s: float) -> SmpAnswer | None:
        """Return the next answer, or None if there is none for ``timeout_s``.

        Raises:
            PortGoneError: The connection was lost.
            DeviceError: The broker refuses the requests.
        """
        try:
            item = self._answers.get(timeout=max(timeout_s, 0.0))
        except queue.Empty:
            return None
        if isinstance(item, DeviceError):
            raise item
        return item

    def wait(self, timeout_s: float) -> bool:
        """Wait for the connection, and return whether there is one. Forget the answers that have arrived."""
        is_ready = self._ready.wait(timeout_s)
        while not self._answers.empty():
            self._answers.get()
        if len(self._losses) == _MAX_LOSSES and time.monotonic() - self._losses[0] < _LOSSES_S:
            raise DeviceError(
                f"The broker {self.url.broker.name} ends the connection again and again.",
                f"Another program may use the same certificate of {self.url.operator}: wait until it has ended, or"
                " use another one.",
            )
        return is_ready

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _connect(self) -> None:
        broker = self.url.broker
        try:
            self._client.connect(broker.host, broker.port, _KEEPALIVE_S)
        except ssl.SSLError as error:
            raise DeviceError(
                f"There is no TLS connection to the broker {broker.name}: {error.reason or error}.",
                "Check the files ca, cert and key in the address, and the host name in the broker's certificate.",
            ) from error
        except (OSError, ValueError) as error:
            raise DeviceError(
                f"The broker {broker.name} cannot be reached: {error}.",
                "Check that it runs, and its address and port.",
            ) from error
        self._client.loop_start()
        end = time.monotonic() + _CONNECT_S
        while not self._ready.wait(0.02):
            if self._ended.is_set() or time.monotonic() > end:
                self.close()
                reason = self._refusal or "does not answer as a broker of MQTT 5 does"
                raise DeviceError(
                    f"The broker {broker.name} {reason}.",
                    "Check the address, and the user and password or the certificate in it.",
                )

    def _on_connect(self, client: Any, _: object, __: object, reason: Any, ___: object) -> None:
        if reason.is_failure:
            wrong_version = reason.value == _WRONG_VERSION
            self._refuse("does not speak MQTT 5" if wrong_version else f"refuses the connection: {reason}")
            return
        client.subscribe([(self._answer_topic, 1), (self._status_topic, 1)])

    def _on_subscribe(self, _: object, __: object, ___: object, reasons: list[Any], ____: object) -> None:
        if any(reason.is_failure for reason in reasons):
            self._refuse("does not let this user read the answers of the device")
        else:
            self._ready.set()

    def _on_disconnect(self, _: object, __: object, ___: object, reason: Any, ____: object) -> None:
        if not self._ready.is_set():
            hint = ", or refuses this certificate" if self.url.broker.is_encrypted else f": {reason}"
            self._refuse(f"ended the connection{hint}")
        self._losses = [*self._losses, time.monotonic()][-_MAX_LOSSES:]
        self._ready.clear()
        name = self.url.broker.name
        self._answers.put(
            PortGoneError(f"The connection to the broker {name} was lost.", "Check the network.")
        )

    def _on_publish(self, _: object, __: object, ___: object, reason: Any, ____: object) -> None:
        self.has_no_receiver = reason.value == _NO_SUBSCRIBERS
        if reason.value == _NOT_AUTHORIZED:
            self._answers.put(
                DeviceError(
                    f"The broker {self.url.broker.name} does not let {self.url.operator} send requests to the device"
                    f" '{self.url.device}' of the fleet '{self.url.fleet}'.",
                    "Use the certificate of an operator: `arenite fleet broker --operator NAME` makes one"
                    " (docs/gateway.md).",
                )
            )

    def _on_message(self, _: object, __: object, message: Any) -> None:
        try:
            if message.topic == self._status_topic:
                self.status = decode_status(bytes(message.payload))
            else:
                self._answers.put(decode_smp_answer(bytes(message.payload)))
        except MessageError:
            pass  # from a gateway of another version: the time limit tells that there is no answer

    def _refuse(self, text: str) -> None:
        self._refusal = self._refusal or text
        self._ended.set()
