"""Tests of the MQTT sink with a real broker: lost connections, rejected passwords, TLS, and that the loop never
waits."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arenite.errors import UsageError
from arenite.host.camera.sinks import mqtt as mqtt_sink
from arenite.host.camera.sinks.mqtt import MqttSink
from arenite.host.camera.sinks.mqtt_url import Broker, parse_broker
from arenite.host.mqtt.broker_address import BrokerAddress
from tests.free_port import free_port
from tests.host.camera.dashboard.simulated_run import face, served_of

MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin:/bin:/usr/local/bin")
needs_broker = pytest.mark.skipif(MOSQUITTO is None, reason="no mosquitto to publish to")
#: The longest wait for the broker.
_WAIT_S = 60.0


def until(condition: Callable[[], Any]) -> Any:
    """Wait until ``condition()`` is true and return its value."""
    end = time.monotonic() + _WAIT_S
    while not (value := condition()):
        assert time.monotonic() < end, "timeout"
        time.sleep(0.02)
    return value


@contextlib.contextmanager
def broker(tmp_path: Path, port: int, *lines: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run Mosquitto with the configuration ``lines`` and yield its process."""
    assert MOSQUITTO is not None
    text = [f"listener {port} 127.0.0.1", *(lines or ("allow_anonymous true",))]
    (tmp_path / "mosquitto.conf").write_text("\n".join(text) + "\n")
    process = subprocess.Popen(
        [MOSQUITTO, "-c", tmp_path / "mosquitto.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until(lambda: _listens(port) or process.poll() is not None)
        assert process.poll() is None
        yield process
    finally:
        process.terminate()
        process.wait(60)


def _listens(port: int) -> bool:
    """Return whether a server accepts connections on the port."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


class Reader:
    """An MQTT client that subscribes to all topics and keeps the messages."""

    def __init__(self, port: int, ca: Path | None = None, user: str | None = None) -> None:
        import paho.mqtt.client as mqtt
        from paho.mqtt.enums import CallbackAPIVersion

        def subscribe(client: mqtt.Client, *_: Any) -> None:
            client.subscribe("#", qos=1)

        self.messages: list[tuple[str, str, bool]] = []
        self._client = mqtt.Client(CallbackAPIVersion.VERSION2)
        if ca is not None:
            self._client.tls_set(str(ca))
        if user is not None:
            self._client.username_pw_set(user, "s%cret")
        subscribed: list[Any] = []
        self._client.on_message = lambda _, __, m: self.messages.append(
            (m.topic, m.payload.decode(), m.retain)
        )
        self._client.on_connect = subscribe
        self._client.on_subscribe = lambda *_: subscribed.append(1)
        self._client.connect("localhost" if ca else "127.0.0.1", port)
        self._client.loop_start()
        until(lambda: subscribed)

    def of(self, topic: str) -> list[str]:
        """Return the messages of ``topic``."""
        return [text for name, text, _ in self.messages if name == topic]

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


@needs_broker
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_each_frame_and_the_status_are_published(tmp_path: Path, qos: int) -> None:
    port = free_port()
    with broker(tmp_path, port):
        reader = Reader(port)
        sink = MqttSink(f"mqtt://127.0.0.1:{port}/home/door%20cam?qos={qos}")
        until(lambda: reader.of("home/door cam/status") == ["online"])
        frames = [served_of(number, face(number)) for number in range(20)]
        for served in frames:
            sink.take(served, None)
        until(lambda: len(reader.of("home/door cam")) == 20)
        sink.close()
        sink.close()
        assert [json.loads(text) for text in reader.of("home/door cam")] == [
            json.loads(json.dumps(served.to_json())) for served in frames
        ]
        until(lambda: reader.of("home/door cam/status") == ["online", "offline"])
        assert sink.sent == 20 and sink.lost == 0
        reader.close()
        late_reader = Reader(port)
        until(lambda: ("home/door cam/status", "offline", True) in late_reader.messages)
        assert late_reader.of("home/door cam") == []
        late_reader.close()


@pytest.mark.slow
@needs_broker
def test_the_sink_reconnects_to_the_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arenite.host.camera.sinks.mqtt._BACKOFF_S", (1, 1))
    port = free_port()
    messages: list[str] = []
    with broker(tmp_path, port):
        sink = MqttSink(f"mqtt://127.0.0.1:{port}/cam", queue=4, report=messages.append)
        until(lambda: sink.connected)
    until(lambda: not sink.connected)
    for number in range(10):
        sink.take(served_of(number), None)
    assert sink.lost == 6
    with broker(tmp_path, port):
        reader = Reader(port)
        # The newest four frames were queued. The status is retained, so later subscribers get it too.
        until(lambda: sink.sent == 4)
        until(lambda: "online" in reader.of("cam/status"))
        sink.take(served_of(10), None)
        until(lambda: any(json.loads(text)["number"] == 10 for text in reader.of("cam")))
        assert {json.loads(text)["number"] for text in reader.of("cam")} <= {6, 7, 8, 9, 10}
        sink.close()
        reader.close()
    assert [("connection was lost" in t, "Connected" in t) for t in messages] == [
        (True, False),
        (False, True),
    ]


@needs_broker
def test_the_status_of_a_killed_run_is_offline(tmp_path: Path) -> None:
    port = free_port()
    script = (
        "import time\nfrom arenite.host.camera.sinks.mqtt import MqttSink\n"
        f"MqttSink('mqtt://127.0.0.1:{port}/cam')\ntime.sleep(60)"
    )
    with broker(tmp_path, port):
        reader = Reader(port)
        child = subprocess.Popen([sys.executable, "-c", script])
        until(lambda: reader.of("cam/status") == ["online"])
        child.kill()
        child.wait()
        until(lambda: reader.of("cam/status") == ["online", "offline"])
        reader.close()


@pytest.mark.slow
@needs_broker
def test_a_rejected_password_is_reported_once_and_not_shown(tmp_path: Path) -> None:
    port = free_port()
    passwords = tmp_path / "passwords"
    tool = shutil.which("mosquitto_passwd")
    if tool is None:
        pytest.skip("no mosquitto_passwd to make passwords with")
    subprocess.run([tool, "-b", "-c", passwords, "me", "s%cret"], check=True, capture_output=True)
    # The broker drops its root rights before it reads the files.
    passwords.chmod(0o644)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    messages: list[str] = []
    with broker(tmp_path, port, "allow_anonymous false", f"password_file {passwords}"):
        accepted = MqttSink(f"mqtt://me:s%25cret@127.0.0.1:{port}/cam")
        until(lambda: accepted.connected)
        accepted.close()
        rejected = MqttSink(f"mqtt://me:wrong@127.0.0.1:{port}/cam", report=messages.append)
        until(lambda: messages)
        rejected.take(served_of(0), None)
        rejected.close()
        assert (
            "Not authorized" in messages[0]
            and "wrong" not in messages[0].replace("it refused", "")
            and len(messages) == 1
        )
        assert not rejected.connected and rejected.sent == 0


@pytest.mark.slow
@needs_broker
def test_the_certificate_of_the_broker_is_checked(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    command = f"{openssl} req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    command += " -addext subjectAltName=DNS:localhost"
    ca, key = tmp_path / "ca.pem", tmp_path / "key.pem"
    subprocess.run([*command.split(), "-keyout", key, "-out", ca], check=True, capture_output=True)
    key.chmod(0o644)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    port = free_port()
    messages: list[str] = []
    lines = ("allow_anonymous true", f"certfile {ca}", f"keyfile {key}")
    with broker(tmp_path, port, *lines):
        sink = MqttSink(f"mqtts://localhost:{port}/cam?qos=1&ca={ca}")
        until(lambda: sink.connected)
        sink.take(served_of(0), None)
        until(lambda: sink.sent == 1)
        sink.close()
        untrusting = MqttSink(f"mqtts://localhost:{port}/cam", report=messages.append)
        until(lambda: messages)
        untrusting.close()
        assert not untrusting.connected


@pytest.mark.slow
def test_a_missing_broker_is_reported_once() -> None:
    messages: list[str] = []
    sink = MqttSink(f"mqtt://127.0.0.1:{free_port()}/cam", queue=8, report=messages.append)
    for number in range(100):
        sink.take(served_of(number), None)
    until(lambda: messages)
    sink.close()
    # The queue holds 8 of the 100 frames.
    assert sink.lost == 92 and len(messages) == 1 and "cannot be reached" in messages[0]


@contextlib.contextmanager
def false_broker(answer: bytes | None) -> Iterator[int]:
    """Run a server that sends ``answer`` on each connection and closes it. If ``answer`` is None, the server keeps
    connections open and sends nothing. Yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connections: list[socket.socket] = []

        def run() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connections.append(connection)
                    if answer is not None:
                        connection.recv(1000)
                        connection.sendall(answer)
                        connection.close()

        threading.Thread(target=run, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        for connection in connections:
            connection.close()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["mqtt", "mqtts"])
def test_a_silent_broker_is_reported_once(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setattr(mqtt_sink, "_ANSWER_TIMEOUT_S", 0.3)
    messages: list[str] = []
    with false_broker(None) as port:
        sink = MqttSink(f"{scheme}://127.0.0.1:{port}/cam", queue=8, report=messages.append)
        for number in range(100):
            sink.take(served_of(number), None)
        until(lambda: messages)
        time.sleep(1.2)  # two more checks
        sink.close(0.1)
    assert len(messages) == 1 and "did not answer within 0.3 s" in messages[0]
    assert not sink.connected and sink.sent == 0 and sink.lost == 92


@pytest.mark.slow
@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(50), b"\xff" * 500])
def test_a_server_that_is_no_broker_is_reported_once(answer: bytes) -> None:
    messages: list[str] = []
    with false_broker(answer) as port:
        sink = MqttSink(f"mqtt://127.0.0.1:{port}/cam", report=messages.append)
        until(lambda: messages)
        time.sleep(1.5)  # the client tries again after a second
        sink.close(0.1)
    assert len(messages) == 1 and "without an answer" in messages[0]


def test_broker_urls_are_parsed() -> None:
    parsed = parse_broker("mqtts://a%40b:p%3Aw@[::1]:99/x/y?qos=2&retain=1&client=c")
    assert parsed == Broker(BrokerAddress("::1", 99, True, "a@b", "p:w"), "x/y", 2, True, "c")
    assert parsed.name == "mqtts://[::1]:99/x/y" and parsed.status == "x/y/status"
    assert parse_broker("mqtt://h/t").address.port == 1883
    assert parse_broker("mqtts://h/t").address.port == 8883


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        # In each message, the password "sesame" must be left out.
        ("http://h/t", "does not begin with mqtt://"),
        ("mqtt:///t", "does not begin with mqtt://"),
        ("mqtt://u:sesame@h", "topic ''"),
        ("mqtt://u:sesame@h/a/%23", "topic 'a/#'"),
        ("mqtt://u:sesame@h:99999/t", "malformed"),
        ("mqtt://u:sesame/open@h/t", "malformed"),  # urllib's own message would quote the password
        ("mqtt://u:sesame@h/t?qos=3", "qos=3"),
        ("mqtt://u:sesame@h/t?colour=red", "unknown option 'colour'"),
        ("mqtt://u:sesame@h/t?ca=/x", "'ca' without TLS"),
        ("mqtts://u:sesame@h/t?ca=/no/such", "no file /no/such"),
        (f"mqtts://u:sesame@h/t?key={__file__}", "key without a cert"),
    ],
)
def test_invalid_broker_urls_raise_an_error(url: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as error:
        parse_broker(url)
    assert "sesame" not in str(error.value)
