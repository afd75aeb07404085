"""A broker, and gateways and operators that are processes, for tests of the update protocol over the broker."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

from arenite.host.fleet.topics import smp_topic
from arenite.host.gateway.smp_messages import (
    Action,
    SmpAnswer,
    SmpRequest,
    decode_smp_answer,
    encode_smp_request,
)
from arenite.host.mqtt.broker_address import BrokerAddress
from arenite.host.mqtt.client import make_client
from benchmarks.fleet.services import Broker
from tests.free_port import free_port
from tests.host.fleet.broker_helpers import WAIT_S, until

_WITH_USB = """
import pathlib, sys
from arenite.host.cli.main import main
from arenite.host.link import usb
usb.ROOT = pathlib.Path(sys.argv[1])
sys.exit(main(sys.argv[2:]))
"""


class Program:
    """A running `arenite` whose output is in ``log``. As a context manager, it is killed at the end. ``usb``: folder in
    which it finds the USB devices of its computer (``UsbTree``)."""

    def __init__(self, log: Path, *words: object, usb: Path | None = None) -> None:
        self.log = log
        self._stream: IO[bytes] = log.open("ab")
        start = ["-m", "arenite.host.cli.main"] if usb is None else ["-c", _WITH_USB, str(usb)]
        command = [sys.executable, *start, *map(str, words)]
        self._process = subprocess.Popen(command, stdout=self._stream, stderr=self._stream)

    def stop(self) -> None:
        """Stop it as systemd does, and wait for its end."""
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(WAIT_S) == 0, self.log.read_text()

    def interrupt(self) -> None:
        """Stop it as Ctrl-C does, and wait for its end."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(WAIT_S)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def wait(self) -> int:
        """Return the exit code."""
        return self._process.wait(2 * WAIT_S)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def has_said(self, text: str) -> bool:
        return text in self.log.read_text()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._stream.close()
        print(self.log.read_text())


class SmpPlant:
    """The fleet `plant` with the device `pump-1`, at a broker without access rules. ``url`` is the device's address for
    `arenite update push`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.broker = Broker(folder, self.port)
        self.url = f"mqtt://127.0.0.1:{self.port}/plant/pump-1"

    def gateway(self, port: object, *options: object, usb: Path | None = None) -> Program:
        words = ("gateway", f"--broker=127.0.0.1:{self.port}", "--fleet=plant", f"--device=pump-1={port}")
        state = ("--state", self.folder / "state", "--heartbeat=1")
        return Program(self.folder / "gateway.log", *words, *state, *options, usb=usb)

    def server(self) -> Program:
        words = ("fleet", "serve", f"--broker=127.0.0.1:{self.port}", "--fleet=plant")
        return Program(self.folder / "server.log", *words, "--database", self.folder / "fleet.db")

    def push(self, *words: object) -> Program:
        return Program(self.folder / "push.log", "update", "push", *words)

    def __enter__(self) -> SmpPlant:
        self.broker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.broker.kill()


class RawOperator:
    """An operator that sends messages one by one."""

    def __init__(self, port: int, name: str) -> None:
        self.answers: list[SmpAnswer] = []
        self._name, self._number = name, 0
        self._client: Any = make_client(BrokerAddress("127.0.0.1", port), name, is_persistent=False)
        self._client.on_message = lambda _, __, message: self.answers.append(
            decode_smp_answer(message.payload)
        )
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        self._client.subscribe(smp_topic("plant", "pump-1", "answer", name), 1)

    def send(self, action: Action, message: bytes = b"", *, number: int = 0) -> SmpAnswer:
        """Send a request, with a new number by default. Return the answer."""
        before = len(self.answers)
        self._number += 1
        request = SmpRequest(action, f"session of {self._name}", number or self._number, message)
        self.publish(encode_smp_request(request))
        until(lambda: len(self.answers) > before)
        return self.answers[before]

    def publish(self, payload: bytes, *, is_retained: bool = False) -> None:
        topic = smp_topic("plant", "pump-1", "request", self._name)
        self._client.publish(topic, payload, 1, is_retained).wait_for_publish(WAIT_S)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()
