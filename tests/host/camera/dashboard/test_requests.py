"""Tests of the dashboard's HTTP requests: malformed and ambiguous ones, other hosts, and the token."""

from __future__ import annotations

import contextlib
import socket
from urllib.parse import urlsplit

import pytest

from arenite.host.camera.dashboard.server import Dashboard
from tests.host.camera.dashboard.client import get

TOKEN = "sand-and-pressure"


def test_other_host_names_and_sites_are_rejected(dashboard: Dashboard) -> None:
    assert get(dashboard, "/state", Host="evil.example")[0] == 421
    assert get(dashboard, "/state", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0] == 403
    assert get(dashboard, "/state", Sec_Fetch_Site="same-origin")[0] == 200
    port = urlsplit(dashboard.url).port or 0
    with socket.create_connection(("127.0.0.1", port), 30) as raw:
        raw.sendall(b"GET /state HTTP/1.0\r\n\r\n")
        assert b" 421 " in raw.makefile("rb").readline()
    with socket.create_connection(("127.0.0.1", port), 30) as raw:
        raw.sendall(b"nonsense\r\n\r\n")
        assert b"Traceback" not in raw.makefile("rb").read()


def test_a_request_body_is_not_parsed_as_a_request(dashboard: Dashboard) -> None:
    """Otherwise, behind a proxy that clients share, the next client would get the answer to a request inside the
    body."""
    inner = b"GET /state HTTP/1.1\r\nHost: localhost\r\n\r\n"
    sized = b"Content-Length: %d" % len(inner)
    for header in (sized, b"Transfer-Encoding: chunked", sized.replace(b": ", b": +")):
        with socket.create_connection(("127.0.0.1", urlsplit(dashboard.url).port or 0), 30) as raw:
            raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + header + b"\r\n\r\n" + inner)
            actual = b""
            with contextlib.suppress(ConnectionResetError):
                while part := raw.recv(65536):
                    actual += part
        assert actual.count(b"HTTP/1.1 ") == 1 and b"\r\nConnection: close\r\n" in actual


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 0\r\nContent-Length: %d",
        b"Content-Length: %d\r\nContent-Length: 0",
        b"Content-Length: 0\r\ncontent-length: %d",
        b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\nX: %d",
        b"Content-Length: 0, %d",
        b"Content-Length: +%d",
        b"Content-Length: 0_%d",
        b"Content-Length : %d",
        b"Content-Length: 0\r\n %d",
        b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\nX: %d",
        b"no colon\r\nContent-Length: %d",
        b" X: y\r\nContent-Length: %d",
        b"Host: evil.example\r\nContent-Length: %d",
        b"X\x0b: y\r\nContent-Length: %d",
    ],
)
def test_ambiguous_headers_are_refused(dashboard: Dashboard, headers: bytes) -> None:
    """If a request has two lengths, a proxy may use one and the server the other. Then the server could take the rest
    of the body for the request of another client."""
    inner = b"GET /state HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", urlsplit(dashboard.url).port or 0), 30) as raw:
        raw.sendall(
            b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n" + headers % len(inner) + b"\r\n\r\n" + inner
        )
        actual = b""
        with contextlib.suppress(ConnectionResetError):
            while part := raw.recv(65536):
                actual += part
    assert actual.startswith(b"HTTP/1.1 400 ") and actual.count(b"HTTP/1.1 ") == 1
    assert b"\r\nConnection: close\r\n" in actual


def test_a_request_that_is_too_long_is_refused(dashboard: Dashboard) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(dashboard.url).port or 0), 30) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 40_000)
        assert raw.makefile("rb").readline().startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /state HTTP/1.1\nHost: localhost\n\n\r\n\r\n",
        b"GET /state HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n",
        b"GET /state HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n",
        b"GET /state HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
        b"GET /sta te HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET  /state HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /state HTTP/1.1\r\n\r\n",
        b"GET /state HTTP/9\r\nHost: localhost\r\n\r\n",
        b"GET /state\r\n\r\n",
        b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    ],
)
def test_malformed_requests_are_refused(dashboard: Dashboard, request_bytes: bytes) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(dashboard.url).port or 0), 30) as raw:
        raw.sendall(request_bytes)
        actual = b""
        with contextlib.suppress(ConnectionResetError):
            while part := raw.recv(65536):
                actual += part
    assert actual.startswith(b"HTTP/1.1 400 ") and actual.count(b"HTTP/1.1 ") == 1


def test_requests_that_arrive_together_are_answered_in_order(dashboard: Dashboard) -> None:
    request = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", urlsplit(dashboard.url).port or 0), 30) as raw:
        raw.sendall(request % b"log" + request % b"nothing" + request % b"state")
        raw.shutdown(socket.SHUT_WR)
        answers = raw.makefile("rb").read().split(b"HTTP/1.1 ")[1:]
    assert [answer[:3] for answer in answers] == [b"200", b"404", b"200"]
    assert answers[0].endswith(b"\r\n\r\n[]") and answers[2].endswith(b"\r\n\r\n{}")


def test_requests_need_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Dashboard("0.0.0.0", token=TOKEN)
    assert f"?token={TOKEN}" in server.start()
    port = urlsplit(server.url).port
    with contextlib.closing(server):
        for path in ("/", "/events", "/frame", "/metrics", "/answers", "/state", "/log", "/page.js"):
            status, headers, body = get(server, path)
            assert (
                status == 401
                and headers["WWW-Authenticate"].startswith("Bearer")
                and b"needs its token" in body
            )
        assert get(server, "/healthz")[0] == 503
        assert get(server, "/?token=wrong-and-long")[0] == 401
        assert get(server, "/metrics", Authorization=f"Bearer {TOKEN}")[0] == 200
        assert get(server, "/metrics", Authorization="Bearer wrong")[0] == 401
        status, headers, _ = get(server, f"/?token={TOKEN}")
        assert status == 303 and headers["Location"] == "/"
        name, _, attributes = headers["Set-Cookie"].partition("=")
        assert (
            name == f"arenite_{port}"
            and "HttpOnly" in attributes
            and "SameSite=Lax" in attributes
            and TOKEN not in attributes
        )
        cookie = f"{name}={attributes.split(';')[0]}"
        assert (
            get(server, "/", Cookie=cookie)[0] == 200 and get(server, "/", Cookie=f"a=b; {cookie}")[0] == 200
        )
        assert get(server, "/", Cookie=f"{name}=x")[0] == 401 and get(server, "/", Cookie="\x01;=;")[0] == 401
        # The redirection never leads to another site.
        for path in ("//evil.example/", "/\\evil.example/", "\\\\evil.example/"):
            assert get(server, f"{path}?token={TOKEN}")[1]["Location"] == "/evil.example/"


def test_the_printed_address_works_with_special_characters_in_the_token() -> None:
    with contextlib.closing(Dashboard("127.0.0.1", token="a&b c%20#d=é+/longer")) as server:
        address = urlsplit(server.start())
        assert get(server, f"/?{address.query}")[0] == 303 and not address.fragment


@pytest.mark.parametrize(
    "other", ['settings={"theme": "dark"}', "path=/x", "version=2", "a b=c", "=x", "alone"]
)
def test_cookies_of_other_servers_do_not_hide_the_dashboards_cookie(other: str) -> None:
    """A browser sends the cookies of all servers of a computer, whatever their port."""
    server = Dashboard("0.0.0.0", token=TOKEN)
    server.start()
    with contextlib.closing(server):
        cookie = get(server, f"/?token={TOKEN}")[1]["Set-Cookie"].split(";")[0]
        for header in (f"{other}; {cookie}", f"{cookie}; {other}"):
            assert get(server, "/state", Cookie=header)[0] == 200


@pytest.mark.parametrize(
    ("malformed", "status"),
    [
        (b"GET /state HTTP/1.1\r\n\r\n", b"400"),
        (b"POST /state HTTP/1.1\r\nHost: localhost\r\n\r\n", b"405"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 40_000, b"431"),
    ],
)
def test_a_request_after_a_head_request_is_refused_with_a_text(malformed: bytes, status: bytes) -> None:
    reports: list[str] = []
    server = Dashboard(report=reports.append)
    server.start()
    with (
        contextlib.closing(server),
        socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0), 30) as raw,
    ):
        raw.sendall(b"HEAD /state HTTP/1.1\r\nHost: localhost\r\n\r\n" + malformed)
        actual = b""
        with contextlib.suppress(ConnectionResetError):
            while part := raw.recv(65536):
                actual += part
    _, head_answer, refusal = actual.split(b"HTTP/1.1 ")
    assert head_answer.startswith(b"200 ") and head_answer.endswith(b"\r\n\r\n")
    headers, _, text = refusal.partition(b"\r\n\r\n")
    assert headers.startswith(status) and b"Content-Length: %d\r\n" % len(text) in headers + b"\r\n" and text
    assert reports == []
