"""Tests of the dashboard with TLS."""

from __future__ import annotations

import contextlib
import http.client
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from arenite.errors import UsageError
from arenite.host.camera.dashboard.server import Dashboard
from arenite.host.http_server import connection_server
from tests.host.camera.dashboard.simulated_run import state_at

TOKEN = "sand-and-pressure"
#: The beginning of a TLS handshake.
HANDSHAKE_START = b"\x16\x03\x01\x02\x00"
PAGE = Path(__file__).parents[4] / "docs/camera-dashboard.md"

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")


def make_certificate(folder: Path, name: str = "camera") -> tuple[Path, Path]:
    """Return a new certificate and its key, made by the command that the documentation shows."""
    shown = re.search(r"^    (openssl req .*?[^\\])\n", PAGE.read_text(), re.M | re.S)
    assert shown is not None
    command = shlex.split(shown[1].replace("\\\n", " "))
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    (folder / "camera.crt").replace(certificate)
    (folder / "camera.key").replace(key)
    return certificate, key


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The files of a certificate and its key."""
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def server(pair: tuple[Path, Path], reports: list[str]) -> Iterator[Dashboard]:
    """A running dashboard with TLS and a token. Its messages are appended to ``reports``."""
    dashboard = Dashboard(
        "0.0.0.0",
        token=TOKEN,
        max_clients=6,
        tls_certificate=pair[0],
        tls_key=pair[1],
        report=reports.append,
    )
    dashboard.start()
    with contextlib.closing(dashboard):
        yield dashboard


def _port(server: Dashboard) -> int:
    return urlsplit(server.url).port or 0


def _client(server: Dashboard, certificate: Path) -> http.client.HTTPSConnection:
    """Return a connection to the dashboard that trusts only ``certificate``."""
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False  # the certificate has the name camera.local
    return http.client.HTTPSConnection("127.0.0.1", _port(server), context=context, timeout=30)


def test_pages_events_and_cookies_are_encrypted(server: Dashboard, pair: tuple[Path, Path]) -> None:
    assert server.url.startswith("https://") and server.url.endswith(f"?token={TOKEN}")
    with contextlib.closing(_client(server, pair[0])) as client:
        client.connect()
        assert isinstance(client.sock, ssl.SSLSocket) and client.sock.version() in ("TLSv1.2", "TLSv1.3")
        client.request("GET", f"/?token={TOKEN}")
        answer = client.getresponse()
        cookie = answer.headers["Set-Cookie"]
        assert answer.status == 303 and answer.read() == b"" and cookie.endswith("; Secure")
        client.request("GET", "/events", headers={"Cookie": cookie.split(";")[0]})
        events = client.getresponse()
        assert events.status == 200 and events.readline() == b"event: hello\n"
        server.update(state_at(1))
        while events.readline() != b"event: news\n":
            pass
        server.close()
        while events.readline():
            pass


def test_clients_that_speak_no_tls_do_not_lock_the_owner_out(
    server: Dashboard, pair: tuple[Path, Path], reports: list[str]
) -> None:
    with contextlib.ExitStack() as stack:
        for request in (b"", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", HANDSHAKE_START):
            for _ in range(20):
                raw = stack.enter_context(socket.create_connection(("127.0.0.1", _port(server)), 30))
                raw.sendall(request)
            with contextlib.closing(_client(server, pair[0])) as client:
                client.request("GET", "/state", headers={"Authorization": f"Bearer {TOKEN}"})
                assert client.getresponse().read() == b"{}"
    assert reports == []


def test_a_handshake_that_does_not_end_is_closed(server: Dashboard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_server, "REQUEST_TIMEOUT_S", 0.3)
    with socket.create_connection(("127.0.0.1", _port(server)), 30) as raw:
        raw.sendall(HANDSHAKE_START)
        assert raw.recv(1) == b""


def test_a_browser_that_does_not_trust_the_certificate_is_not_reported(
    server: Dashboard, reports: list[str]
) -> None:
    context = ssl.create_default_context()
    context.check_hostname = False
    for _ in range(3):
        with (
            socket.create_connection(("127.0.0.1", _port(server)), 30) as raw,
            pytest.raises(ssl.SSLCertVerificationError),
        ):
            context.wrap_socket(raw)
    time.sleep(0.1)
    assert reports == []


def test_old_versions_of_tls_are_refused(server: Dashboard) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", _port(server)), 30) as raw, pytest.raises(OSError):
        context.wrap_socket(raw)


def test_one_file_may_contain_the_certificate_and_the_key(pair: tuple[Path, Path], tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(pair[1].read_bytes() + pair[0].read_bytes())
    dashboard = Dashboard(tls_certificate=both)
    assert dashboard.start().startswith("https://127.0.0.1:")
    dashboard.close()


def test_bad_certificates_are_refused(pair: tuple[Path, Path], tmp_path: Path) -> None:
    certificate, key = pair
    (tmp_path / "other").mkdir()
    other_key = make_certificate(tmp_path / "other", "other")[1]
    encrypted = tmp_path / "encrypted.key"
    command = ["openssl", "pkey", "-in", str(key), "-aes256", "-passout", "pass:sesame"]
    command += ["-out", str(encrypted)]
    subprocess.run(command, check=True, capture_output=True)
    text = tmp_path / "text"
    text.write_text("no certificate\n")
    for chosen, message in (
        ((tmp_path / "nothing.pem", None), "of --tls-cert cannot be read: No such file"),
        ((certificate, tmp_path / "nothing.pem"), "of --tls-key cannot be read: No such file"),
        ((tmp_path, None), "of --tls-cert cannot be read: Is a directory"),
        ((certificate, other_key), "does not belong to the certificate"),
        ((certificate, encrypted), "is encrypted with a password"),
        ((certificate, None), "without --tls-key"),
        ((text, key), "no certificate with its private key"),
        ((key, certificate), "no certificate with its private key"),
        ((None, key), "without a certificate"),
    ):
        with pytest.raises(UsageError, match=message):
            Dashboard(tls_certificate=chosen[0], tls_key=chosen[1])


def test_the_command_serves_https(pair: tuple[Path, Path]) -> None:
    command = [sys.executable, "-m", "arenite.host.cli.main", "camera", "--source", "synthetic", "--json"]
    command += ["--dashboard", "--tls-cert", str(pair[0]), "--tls-key", str(pair[1])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            assert child.stderr is not None
            address = next(match for line in child.stderr if (match := re.search(r"https://\S+", line)))
            context = ssl.create_default_context(cafile=pair[0])
            context.check_hostname = False
            port = urlsplit(address[0]).port
            client = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=30)
            client.request("GET", "/healthz")
            assert client.getresponse().status in (200, 503)
            client.close()
        finally:
            child.terminate()
            child.communicate(timeout=60)
