"""Tests of the server of a page: files, the token, TLS with the local authority, and samples."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from arenite.errors import UsageError
from arenite.host.web.serving.sample_collection import SampleCollection, SampleFormat
from arenite.host.web.serving.served_repository import served_repository
from tests.host.web.serving.page_folder import POLICY, write_page

pytest.importorskip("h11", reason="needs h11")
from arenite.host.http_server import connection_server
from arenite.host.web.serving.page_server import PageServer

TOKEN = "sand-and-pressure"
#: Pictures of four pixels. A sample has 16 bytes: red, green, blue and alpha of each pixel.
FORMAT = SampleFormat(width=2, height=2)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PageServer]:
    """A running server of a page that collects samples of the classes "cat" and "dog"."""
    collection = SampleCollection(tmp_path / "data", FORMAT, ("cat", "dog"))
    page = PageServer(
        write_page(tmp_path / "page"), "127.0.0.1", 0, TOKEN, tls=None, collection=collection, report=print
    )
    page.start()
    with contextlib.closing(page):
        yield page


def request(
    server: PageServer, method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, http.client.HTTPMessage, bytes]:
    """Return the status, the headers and the body of the answer to a request with the token."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    with contextlib.closing(connection):
        sent = {"Authorization": f"Bearer {TOKEN}"} | {k.replace("_", "-"): v for k, v in headers.items()}
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


def test_files_have_their_types_and_the_policy_of_the_page(server: PageServer) -> None:
    status, headers, body = request(server, "GET", "/")
    assert status == HTTPStatus.OK and b"<title>page" in body
    assert headers["Content-Security-Policy"] == f"{POLICY}; frame-ancestors 'none'"
    assert headers["Permissions-Policy"].startswith("camera=(self), microphone=(self)")
    assert request(server, "GET", "/model.wasm")[1]["Content-Type"] == "application/wasm"
    for path in ("/../secret", "/%2e%2e/secret", "/data/labels.txt", "/collect", "/authority.crt"):
        assert request(server, "GET", path)[0] == HTTPStatus.NOT_FOUND


def test_the_repository_beside_the_page_is_served_as_it_is_now(tmp_path: Path) -> None:
    page, models = write_page(tmp_path / "page"), tmp_path / "models"
    with pytest.raises(UsageError, match=r"looks for its repository at \.\./models"):
        served_repository(page, "../models")
    for folder in ("metadata", "targets/net"):
        (models / folder).mkdir(parents=True)
    (tmp_path / "secret.json").write_text("secret")
    (models / "targets/net/00.model.wasm").write_bytes(b"\0asm")
    repository = served_repository(page, "../models")
    server = PageServer(page, "127.0.0.1", 0, TOKEN, tls=None, repository=repository, report=print)
    server.start()
    with contextlib.closing(server):
        for content in (b"1", b"22"):
            (models / "metadata/timestamp.json").write_bytes(content)
            assert request(server, "GET", "/models/metadata/timestamp.json")[::2] == (HTTPStatus.OK, content)
        assert request(server, "GET", "/models/targets/net/00.model.wasm")[2] == b"\0asm"
        assert request(server, "GET", "/model.wasm")[0] == HTTPStatus.OK
        for path in (
            "metadata/2.root.json",
            "metadata/../../secret.json",
            "metadata",
            "targets/net",
            ".lock",
        ):
            assert request(server, "GET", f"/models/{path}")[0] == HTTPStatus.NOT_FOUND
        wrong = {"Authorization": "Bearer other-token"}
        answer = request(server, "GET", "/models/metadata/timestamp.json", None, **wrong)
        assert answer[0] == HTTPStatus.UNAUTHORIZED


def test_the_address_has_the_token_and_nothing_is_served_without(server: PageServer) -> None:
    url = urlsplit(server.url)
    assert url.query == f"token={TOKEN}" and server.is_local and url.scheme == "http"
    wrong = {"Authorization": "Bearer other-token"}
    for path in ("/", "/model.wasm"):
        assert request(server, "GET", path, None, **wrong)[0] == HTTPStatus.UNAUTHORIZED
    status, _, _ = request(server, "POST", "/collect?label=cat&answer=%5B%5D", bytes(16), **wrong)
    assert status == HTTPStatus.UNAUTHORIZED


def test_samples_are_stored(server: PageServer, tmp_path: Path) -> None:
    status, _, body = request(server, "POST", "/collect?label=dog&answer=%5B%5D", bytes(16))
    assert status == HTTPStatus.CREATED and b'"dog/' in body
    assert len(list((tmp_path / "data/dog").glob("*.png"))) == 1
    status, _, body = request(server, "POST", "/collect?label=bird&answer=%5B%5D", bytes(16))
    assert status == HTTPStatus.UNPROCESSABLE_ENTITY and b"not a class" in body


def test_a_request_after_one_with_an_empty_body_is_answered(server: PageServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with contextlib.closing(connection):
        connection.connect()
        raw = connection.sock
        for body, status in ((b"", HTTPStatus.UNPROCESSABLE_ENTITY), (bytes(16), HTTPStatus.CREATED)):
            connection.request("POST", "/collect?label=cat&answer=%5B%5D", body, headers)
            answer = connection.getresponse()
            assert answer.status == status and answer.read()
        assert connection.sock is raw  # http.client has not opened a second connection


@pytest.mark.slow
def test_a_slow_client_gets_a_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_page(tmp_path / "page")
    (folder / "large.bin").write_bytes(bytes(8_000_000))
    monkeypatch.setattr(connection_server, "_SEND_TIMEOUT_S", 1.0)
    page = PageServer(folder, "127.0.0.1", 0, TOKEN, tls=None, report=print)
    page.start()
    with contextlib.closing(page), socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        raw.settimeout(30)
        raw.connect(("127.0.0.1", page.port))
        raw.sendall(
            f"GET /large.bin HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
        )
        count = 0
        while count < 8_000_000:
            part = raw.recv(200_000)
            assert part, f"the server ended the connection after {count} bytes"
            count += len(part)
            time.sleep(0.05)


def test_two_samples_on_one_connection_are_stored(server: PageServer, tmp_path: Path) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    with contextlib.closing(connection):
        for _ in range(2):
            headers = {"Authorization": f"Bearer {TOKEN}"}
            connection.request("POST", "/collect?label=cat&answer=%5B%5D", bytes(16), headers)
            answer = connection.getresponse()
            assert answer.status == HTTPStatus.CREATED and answer.read()
    assert len(list((tmp_path / "data/cat").glob("*.png"))) == 2


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Length": "17"}, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        ({"Content-Length": "9" * 5000}, HTTPStatus.BAD_REQUEST),
        ({}, HTTPStatus.LENGTH_REQUIRED),
        ({"Transfer-Encoding": "chunked"}, HTTPStatus.LENGTH_REQUIRED),
        ({"Content-Length": "16", "Sec-Fetch-Site": "cross-site"}, HTTPStatus.FORBIDDEN),
        ({"Content-Length": "16", "Sec-Fetch-Site": "same-site"}, HTTPStatus.FORBIDDEN),
    ],
)
def test_bodies_that_are_not_samples_are_not_read(
    server: PageServer, headers: dict[str, str], status: HTTPStatus
) -> None:
    lines = [f"{name}: {value}" for name, value in headers.items()]
    head = "\r\n".join(
        [
            "POST /collect?label=cat HTTP/1.1",
            "Host: localhost",
            f"Authorization: Bearer {TOKEN}",
            *lines,
            "",
            "",
        ]
    )
    with socket.create_connection(("127.0.0.1", server.port), 30) as raw:
        raw.sendall(head.encode() + bytes(16))
        answer = b"".join(iter(lambda: raw.recv(4096), b""))
    assert answer.startswith(f"HTTP/1.1 {status.value} ".encode()), answer


def test_other_paths_take_no_body(server: PageServer) -> None:
    assert request(server, "POST", "/", b"")[0] == HTTPStatus.METHOD_NOT_ALLOWED
    assert request(server, "PUT", "/collect", b"")[0] == HTTPStatus.METHOD_NOT_ALLOWED


def test_a_folder_without_a_page_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no page"):
        PageServer(tmp_path, "127.0.0.1", 0, TOKEN, tls=None, report=print)


def test_a_phone_can_verify_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography", reason="needs cryptography")
    from arenite.host.web.serving.local_authority import local_authority

    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))
    authority = local_authority()
    server = PageServer(
        write_page(tmp_path / "page"),
        "0.0.0.0",
        0,
        TOKEN,
        tls=authority.context("0.0.0.0"),
        authority_pem=authority.certificate_pem,
        report=print,
    )
    server.start()
    with contextlib.closing(server):
        trusting = ssl.create_default_context(cadata=authority.certificate_pem)
        for name in ("127.0.0.1", "localhost"):
            connection = http.client.HTTPSConnection(name, server.port, timeout=30, context=trusting)
            with contextlib.closing(connection):
                connection.request("GET", "/authority.crt")  # needs no token
                answer = connection.getresponse()
                assert answer.headers["Content-Type"] == "application/x-x509-ca-cert"
                assert answer.read().decode() == authority.certificate_pem
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30)
        with contextlib.closing(connection), pytest.raises(ssl.SSLCertVerificationError):
            connection.request("GET", "/")
    assert server.url.startswith("https://") and not server.is_local
