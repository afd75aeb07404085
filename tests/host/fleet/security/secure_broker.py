"""A mosquitto with the files of ``arenite fleet broker``, and clients of it."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding

from arenite.host.cli.main import main
from arenite.host.fleet.security.authority import FleetAuthority, load_authority, new_key
from arenite.host.http_server.certificates import key_pem
from arenite.host.mqtt.broker_address import BrokerAddress, parse_broker_address
from arenite.host.mqtt.client import make_client
from tests.free_port import free_port
from tests.host.fleet.broker_helpers import WAIT_S, until

_PROGRAM = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin:/bin:/usr/local/bin")


class SecureBroker:
    """The broker of the fleet 'plant', with a server, a worker with the name 'one', and ``operators``."""

    def __init__(self, folder: Path, *operators: str) -> None:
        self.folder = folder
        self.port = free_port()
        arguments = ["fleet", "broker", str(folder), "--fleet", "plant", "--host", "localhost"]
        options = [f"--operator={name}" for name in operators]
        assert main([*arguments, "--port", str(self.port), "--worker", "one", *options]) == 0
        self.authority: FleetAuthority = load_authority(folder)
        self._log = (folder / "mosquitto.log").open("wb")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert _PROGRAM is not None
        config = str(self.folder / "broker" / "mosquitto.conf")
        self._process = subprocess.Popen([_PROGRAM, "-c", config], stdout=self._log, stderr=self._log)
        until(lambda: self._listens() or self._process.poll() is not None)  # type: ignore[union-attr]
        assert self._process.poll() is None, self.log

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(WAIT_S)

    def reload(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)

    @property
    def log(self) -> str:
        return (self.folder / "mosquitto.log").read_text()

    def url(self, name: str, *, has_certificate: bool = True) -> str:
        """Return the address for the client whose files are called ``name``."""
        url = f"mqtts://localhost:{self.port}?ca={self.folder}/authority.pem"
        return url + (
            f"&cert={self.folder}/{name}.pem&key={self.folder}/{name}.key" if has_certificate else ""
        )

    def device(self, name: str, *, authority: FleetAuthority | None = None, days: float = 1) -> str:
        """Write a certificate for the device, and return its address of the broker."""
        key = new_key()
        certificate = (authority or self.authority).certify_client(name, key.public_key(), days)
        (self.folder / f"{name}.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
        (self.folder / f"{name}.key").write_bytes(key_pem(key))
        return self.url(name)

    def _listens(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False


@contextlib.contextmanager
def secure_broker(*operators: str) -> Iterator[SecureBroker]:
    """Run the broker of a fleet with ``operators``. Its folder can be read by mosquitto's account, as the folders of
    pytest cannot."""
    with tempfile.TemporaryDirectory(prefix="arenite-fleet-") as name:
        Path(name).chmod(0o755)
        broker = SecureBroker(Path(name), *operators)
        try:
            broker.start()
            yield broker
        finally:
            broker.stop()


class Client:
    """A client of the broker. ``outcome`` is 'connected' or 'refused'."""

    def __init__(self, url: str, client_id: str = "client") -> None:
        self.address: BrokerAddress = parse_broker_address(url)
        self.messages: list[tuple[str, bytes]] = []
        self.outcome = ""
        self.disconnections = 0
        self._subscribed = threading.Event()
        self._client = make_client(self.address, client_id, is_persistent=False)
        self._client.on_connect = self._on_connect
        self._client.on_disconnect = self._on_disconnect
        self._client.on_message = lambda _, __, message: self.messages.append(
            (message.topic, message.payload)
        )
        self._client.on_subscribe = lambda *_: self._subscribed.set()
        try:
            self._client.connect(self.address.host, self.address.port)
        except (ssl.SSLError, ConnectionError):
            self.outcome = "refused"
            return
        self._client.loop_start()
        until(lambda: self.outcome)

    def subscribe(self, topic: str) -> None:
        self._subscribed.clear()
        self._client.subscribe(topic, 1)
        assert self._subscribed.wait(WAIT_S)

    def publish(self, topic: str, payload: bytes) -> None:
        """Publish, and wait until the broker has taken the message, whether it delivers it or not."""
        self._client.publish(topic, payload, 1).wait_for_publish(WAIT_S)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _on_connect(self, _: Any, __: Any, ___: Any, reason: Any, ____: Any) -> None:
        self.outcome = "refused" if reason.is_failure else "connected"

    def _on_disconnect(self, *_: Any) -> None:
        self.disconnections += 1
        self.outcome = self.outcome or "refused"
