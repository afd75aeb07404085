"""A process with many simulated devices: ``python -m benchmarks.fleet.device_process SETTINGS``, a JSON object.

The parent writes commands to its standard input, a line each, and the process answers with a line each:

- ``step``: simulate the time since the last step;
- ``pending``: tell how many events are not acknowledged;
- ``report``: tell what was recorded, and what runs.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from arenite.host.fleet.agent import AgentSettings, DeviceIdentity
from arenite.host.fleet.clock import FileClock
from arenite.host.fleet.topics import parse_topic
from arenite.host.mqtt.broker_address import BrokerAddress
from arenite.host.mqtt.client import make_client
from benchmarks.fleet.simulated_device import BOARDS, SimulatedDevice

#: The time between two looks for batches that were not acknowledged, in seconds.
_RETRY_LOOK_S = 0.5


class Connection:
    """A connection to the broker that some devices share, as behind a gateway. The broker publishes the last will of
    the first one. All callbacks only put what happened into a queue."""

    def __init__(self, devices: list[SimulatedDevice], port: int, happened: queue.Queue[Any]) -> None:
        self.devices = devices
        identity = devices[0].identity
        name = f"{identity.fleet}-{identity.device}"
        self._client = make_client(BrokerAddress("127.0.0.1", port), name, is_persistent=True)
        self._client.will_set(*devices[0].agent.will, qos=1, retain=True)
        self._client.reconnect_delay_set(1, 2)
        self._client.max_inflight_messages_set(1000)
        self._client.on_connect = lambda *_: happened.put(("connected_to", self))
        self._client.on_disconnect = lambda *_: happened.put(("disconnected", self))
        self._client.on_message = lambda _, __, m: happened.put(("message", self, m.topic, m.payload))
        self._client.connect_async("127.0.0.1", port, 60)
        self._client.loop_start()

    def connected(self) -> None:
        for device in self.devices:
            self._client.subscribe([(topic, 1) for topic in device.agent.subscriptions])
        for device in self.devices:
            if not device.is_dead:
                self._client.publish(*device.agent.connected(), qos=1, retain=True)
        self.send()

    def disconnected(self) -> None:
        for device in self.devices:
            device.agent.disconnected()

    def send(self) -> None:
        for device in self.devices:
            self.send_of(device)

    def send_of(self, device: SimulatedDevice) -> None:
        message = None if device.is_dead else device.agent.outgoing()
        if message is not None:
            self._client.publish(*message, qos=1)


class DeviceProcess:
    def __init__(self, settings: dict[str, Any]) -> None:
        self._happened: queue.Queue[Any] = queue.Queue()
        clock = FileClock(Path(settings["clock"]))
        agent_settings = AgentSettings(
            heartbeat_s=settings["heartbeat_s"], is_durable=False, retry_s=(2.0, 8.0), is_exclusive=False
        )
        self._devices: dict[str, SimulatedDevice] = {}
        for k in range(settings["first"], settings["last"]):
            board, core = BOARDS[k % len(BOARDS)]
            identity = DeviceIdentity(settings["fleet"], f"d{k:05}", board, core)
            self._devices[identity.device] = SimulatedDevice(
                identity,
                Path(settings["folder"]) / identity.device,
                clock,
                time.monotonic,
                "1.0.0",
                agent_settings,
                settings["inferences_per_step"],
            )
        devices, shared = list(self._devices.values()), settings["devices_per_connection"]
        self._connections = [
            Connection(devices[k : k + shared], settings["port"], self._happened)
            for k in range(0, len(devices), shared)
        ]
        self._connected: set[Connection] = set()
        self._connection_of = {d.identity.device: c for c in self._connections for d in c.devices}
        threading.Thread(target=self._read_commands, daemon=True).start()

    def run(self) -> None:
        next_look = time.monotonic()
        while True:
            try:
                kind, *arguments = self._happened.get(timeout=0.1)
            except queue.Empty:
                pass
            else:
                if kind == "end":
                    return
                getattr(self, f"_{kind}")(*arguments)
            if time.monotonic() >= next_look:
                for connection in self._connected:
                    connection.send()
                next_look = time.monotonic() + _RETRY_LOOK_S

    def _read_commands(self) -> None:
        for line in sys.stdin:
            self._happened.put(("command", line.strip()))
        self._happened.put(("end",))

    def _command(self, command: str) -> None:
        answer: Any = None
        if command == "step":
            for device in self._devices.values():
                device.step()
                connection = self._connection_of[device.identity.device]
                if connection in self._connected:
                    if not device.is_dead:
                        device.agent.connected()  # the agent may have restarted
                    connection.send_of(device)
        elif command == "report":
            answer = {
                "recorded": {name: device.recorded for name, device in self._devices.items()},
                "releases": Counter(d.installer.release for d in self._devices.values()),
            }
        elif command == "pending":
            answer = sum(d.agent.pending_events for d in self._devices.values() if not d.is_dead)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()

    def _connected_to(self, connection: Connection) -> None:
        self._connected.add(connection)
        connection.connected()

    def _disconnected(self, connection: Connection) -> None:
        self._connected.discard(connection)
        connection.disconnected()

    def _message(self, connection: Connection, topic: str, payload: bytes) -> None:
        parsed = parse_topic(topic)
        device = self._devices[parsed.device] if parsed is not None else None
        if device is None or device.is_dead:
            return
        device.agent.receive(topic, payload)
        device.note_recorded()
        connection.send_of(device)


if __name__ == "__main__":
    DeviceProcess(json.loads(sys.argv[1])).run()
