"""Tests of the dashboard's HTTP server: paths, headers, access, and that no client delays the camera loop."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from arenite.errors import UsageError
from arenite.host.camera.dashboard import connection_limits, connection_server
from arenite.host.camera.dashboard import server as server_module
from arenite.host.camera.dashboard.server import Dashboard
from arenite.host.camera.observe.history import FIELDS
from tests.host.camera.dashboard.client import get
from tests.host.camera.dashboard.simulated_run import Feeder, face, served_of, state_at

TOKEN = "sand-and-pressure"


@pytest.fixture
def dashboard() -> Iterator[Dashboard]:
    running_dashboard = Dashboard(title="door <camera>")
    running_dashboard.start()
    yield running_dashboard
    running_dashboard.close()


class Events:
    """A client that reads the dashboard's server-sent events."""

    def __init__(self, dashboard: Dashboard) -> None:
        url = urlsplit(dashboard.url)
        self.connection = http.client.HTTPConnection("127.0.0.1", url.port or 0, timeout=30)
        self.connection.request("GET", "/events")
        self.answer = self.connection.getresponse()

    def next(self) -> tuple[str, Any]:
        name = self.answer.readline().decode().removeprefix("event: ").strip()
        data = json.loads(self.answer.readline().decode().removeprefix("data: "))
        assert self.answer.readline() == b"\n"
        return name, data


def test_the_page_is_served_with_security_headers(dashboard: Dashboard) -> None:
    content_types = {}
    for path in ("/", "/page.css", "/page.js", "/charts.js", "/picture.js", "/panels.js", "/icon.svg"):
        status, headers, body = get(dashboard, path)
        assert status == 200 and len(body) > 300
        content_types[path] = headers["Content-Type"].split(";")[0]
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy and headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer"
        assert headers["Access-Control-Allow-Origin"] is None and "Python" not in headers["Server"]
    assert (
        content_types["/"] == "text/html"
        and content_types["/page.js"] == "text/javascript"
        and content_types["/icon.svg"] == "image/svg+xml"
    )
    page = get(dashboard, "/")[2].decode()
    assert (
        "<style" not in page
        and " style=" not in page
        and " onclick=" not in page
        and "//" not in page.split("<svg")[0]
    )


def test_other_paths_and_methods_are_rejected(dashboard: Dashboard) -> None:
    for path in ("/nothing", "/../server.py", "/server.py", "/page.html/", "/%2e%2e/server.py"):
        assert get(dashboard, path)[0] == 404, path
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        status, headers, _ = get(dashboard, "/", method)
        assert status == 405 and headers["Content-Security-Policy"]
    status, headers, body = get(dashboard, "/", "HEAD")
    assert status == 200 and body == b"" and int(headers["Content-Length"]) > 1000


def test_healthz_reports_the_state_of_the_loop(dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch) -> None:
    assert get(dashboard, "/healthz")[::2] == (503, b"warming up\n")
    dashboard.update({"ready": False})
    assert get(dashboard, "/healthz")[0] == 503
    dashboard.update(state_at(1))
    assert get(dashboard, "/healthz")[::2] == (200, b"ok\n")
    monkeypatch.setattr(server_module, "STALLED_S", -1.0)
    status, _, body = get(dashboard, "/healthz")
    assert status == 503 and body.startswith(b"stalled for 0 s")


def test_answers_state_log_and_metrics(dashboard: Dashboard) -> None:
    assert json.loads(get(dashboard, "/answers")[2]) is None
    served = served_of(3, face())
    dashboard.take(served, None)
    for step in (90, 130):
        dashboard.update(state_at(step))
    assert json.loads(get(dashboard, "/answers")[2]) == json.loads(json.dumps(served.to_json()))
    assert json.loads(get(dashboard, "/state")[2]) == json.loads(json.dumps(state_at(130)))
    assert [(a["from"], a["to"]) for a in json.loads(get(dashboard, "/log")[2])] == [
        (29, 28),
        (28, 27),
        (27, 26),
    ]
    status, headers, body = get(dashboard, "/metrics")
    assert status == 200 and headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert (
        b'arenite_camera_frames_served_total{by="model"} 1\n' in body
        and b"arenite_camera_power_watts" in body
    )


def test_nan_and_infinity_are_sent_as_null(dashboard: Dashboard) -> None:
    dashboard.update(state_at(1) | {"fps": float("nan"), "extra": [float("inf"), {"x": (1.0, 2)}]})
    state = json.loads(get(dashboard, "/state")[2], parse_constant=lambda name: pytest.fail(name))
    assert state["fps"] is None and state["extra"] == [None, {"x": [1.0, 2]}]


def test_events_begin_with_the_complete_state(dashboard: Dashboard) -> None:
    for step in range(50):
        dashboard.update(state_at(step))
    events = Events(dashboard)
    name, hello = events.next()
    assert name == "hello" and hello["title"] == "door <camera>" and hello["run"] == dashboard.run_id
    assert hello["fields"] == list(FIELDS) and len(hello["points"]) == 50
    assert hello["state"] == json.loads(json.dumps(state_at(49))) and len(hello["log"]) == 1
    dashboard.update(state_at(50))
    dashboard.update(state_at(130))
    news = [events.next(), events.next()]
    assert [name for name, _ in news] == ["news", "news"]
    assert [event["point"][0] for _, event in news] == [25.0, 65.0]
    assert [a["t_s"] for a in news[1][1]["log"]] == [40.0, 60.0]
    dashboard.close()
    assert events.answer.readline() == b""


def test_a_client_that_does_not_read_does_not_delay_others(dashboard: Dashboard) -> None:
    """One client reads nothing while more events arrive than sockets and buffers can hold."""
    slow_client = Events(dashboard)
    padding = "x" * 40_000
    for step in range(500):
        dashboard.update(state_at(step) | {"notes": [padding]})
    new_client = Events(dashboard)
    assert new_client.next()[1]["state"]["t_s"] == 249.5
    # When the slow client reads again, it gets the missed events or a new hello, and then the newest event.
    while (event := slow_client.next())[1]["state"].get("t_s") != 249.5:
        pass
    assert event[0] in ("hello", "news")


def test_pictures(dashboard: Dashboard) -> None:
    with Feeder(dashboard) as feeder:
        first = get(dashboard, "/frame")
        second = get(dashboard, f"/frame?after={first[1]['X-Count']}")
        without_count = get(dashboard, "/frame?after=x")
    assert (first[0], second[0], without_count[0]) == (200, 200, 200)
    assert first[2][:4] == b"ARF1" and int(second[1]["X-Count"]) > int(first[1]["X-Count"])
    length = int.from_bytes(first[2][4:8], "little")
    header = json.loads(first[2][8 : 8 + length])
    assert (header["width"], header["height"]) == (480, 270) and len(first[2]) == 8 + length + 480 * 270 * 3
    assert header["answer"]["boxes"][0]["label"] == "face"
    dashboard.close()
    # Every buffer was released.
    assert sorted(feeder.released) == list(range(feeder.handed))


def test_the_number_of_clients_is_limited() -> None:
    server = Dashboard(max_clients=2)
    server.start()
    first_client, second_client = Events(server), Events(server)
    assert get(server, "/healthz")[0] == 503 and get(server, "/")[0] == 503
    assert get(server, "/")[1]["Retry-After"] == "5"
    first_client.connection.close()
    first_client.answer.close()
    # The server notices the closed connection at its next write.
    end = time.monotonic() + 60
    status = 503
    while status == 503 and time.monotonic() < end:
        server.update(state_at(1))
        status = get(server, "/")[0]
    assert status == 200 and second_client.next()[0] == "hello"
    server.close()


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


def test_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
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


def _connect(port: int, request: bytes = b"", source: str = "127.0.0.1") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), 30, source_address=(source, 0))
    connection.sendall(request)
    return connection


HALF_SENT = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
HEALTHZ = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
NO_TOKEN = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8")
@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("request_bytes", [b"", b"G", HALF_SENT, HEALTHZ, NO_TOKEN])
def test_clients_without_a_token_do_not_lock_the_owner_out(request_bytes: bytes, spread: bool) -> None:
    server = Dashboard("0.0.0.0", token=TOKEN, max_clients=6)
    server.start()
    port = urlsplit(server.url).port or 0
    authorization = f"Bearer {TOKEN}"
    with contextlib.closing(server), contextlib.ExitStack() as stack:
        owner = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        stack.callback(owner.close)
        owner.request("GET", "/events", headers={"Authorization": authorization})
        events = owner.getresponse()
        assert events.status == 200 and events.readline() == b"event: hello\n"
        for k in range(40):
            source = f"127.0.1.{k + 1}" if spread else "127.0.0.1"
            stack.enter_context(_connect(port, request_bytes, source))
            if k % 10 == 9:
                assert get(server, "/state", Authorization=authorization)[0] == 200
        # The owner's earlier connection was kept.
        server.update(state_at(1))
        while events.readline() != b"event: news\n":
            pass


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8")
def test_one_address_cannot_displace_the_strangers_of_others() -> None:
    server = Dashboard("0.0.0.0", token=TOKEN, max_clients=12)
    server.start()
    port = urlsplit(server.url).port or 0
    with contextlib.closing(server), contextlib.ExitStack() as stack:
        other = stack.enter_context(_connect(port, HALF_SENT, "127.0.2.1"))
        crowd = [stack.enter_context(_connect(port, HALF_SENT)) for _ in range(30)]
        assert crowd[0].recv(1) == b"", "the oldest connection of the crowd was not closed"
        other.sendall(f"Authorization: Bearer {TOKEN}\r\n\r\n".encode())
        assert other.recv(100).startswith(b"HTTP/1.1 200 ")


def test_addresses_of_one_ipv6_network_count_together() -> None:
    network = connection_limits.network_of
    assert network("2001:db8::1") == network("2001:db8::ffff:2") == "2001:db8::/64"
    assert network("2001:db8:0:1::1") != network("2001:db8::1")
    assert network("::ffff:192.0.2.1") == network("192.0.2.1") == "192.0.2.1"
    assert network("fe80::1%eth0") == "fe80::/64"


def test_a_slow_request_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that sends its request byte by byte is disconnected, so that it does not block the others."""
    monkeypatch.setattr(connection_server, "REQUEST_TIMEOUT_S", 0.3)
    server = Dashboard(max_clients=1)
    server.start()
    port = urlsplit(server.url).port or 0
    with contextlib.closing(server), socket.create_connection(("127.0.0.1", port), 30) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        raw.settimeout(0.05)
        for _ in range(200):
            with contextlib.suppress(TimeoutError, ConnectionError):
                raw.sendall(b"X: y\r\n")
                if raw.recv(1) == b"":
                    break
        else:
            pytest.fail("the server did not close the connection")
        end = time.monotonic() + 60
        events = Events(server)
        while events.answer.status == 503 and time.monotonic() < end:
            events = Events(server)
        # After a complete request, the connection may stay open without limit.
        assert events.next()[0] == "hello"
        time.sleep(0.6)
        server.update(state_at(1))
        assert events.next()[0] == "news"


def test_a_missing_camera_is_not_found(dashboard: Dashboard) -> None:
    for camera in (1, -1, 10**9):
        assert get(dashboard, f"/frame?camera={camera}")[0] == 404
    assert not dashboard.preview.watched


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


def test_the_dashboard_names_the_extra_that_it_needs() -> None:
    script = (
        "import sys; sys.modules['h11'] = None\n"
        "from arenite.host.camera.dashboard.server import Dashboard\n"
        "try: Dashboard().start()\nexcept Exception as error: print(type(error).__name__, error)"
    )
    stdout = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert stdout.startswith("UsageError The dashboard needs h11.") and "'arenite[dashboard]'" in stdout


def test_unavailable_addresses_raise_an_error(dashboard: Dashboard) -> None:
    port = urlsplit(dashboard.url).port or 0
    for host, unavailable_port in (("127.0.0.1", port), ("localhost", 70_000), ("127.0.0.1", -1)):
        with pytest.raises(UsageError, match=f"cannot listen on {host}, port {unavailable_port}"):
            Dashboard(host, unavailable_port).start()
    with pytest.raises(UsageError, match="has no token"):
        Dashboard("0.0.0.0")


def test_ipv6() -> None:
    server = Dashboard("::1")
    try:
        url = server.start()
    except UsageError:
        pytest.skip("this machine has no IPv6")
    with contextlib.closing(server):
        assert url.startswith("http://[::1]:")
        connection = http.client.HTTPConnection("::1", urlsplit(url).port or 0, timeout=30)
        connection.request("GET", "/page.css")
        assert connection.getresponse().status == 200
        connection.close()


def test_closing_twice_and_never_started() -> None:
    server = Dashboard()
    server.take(served_of(0), None)
    server.update(state_at(0))
    server.close()
    server.close()


def test_server_modules_are_imported_late() -> None:
    script = (
        "import sys, arenite.host.camera.dashboard.server as s, arenite.host.camera.observe.timeline\n"
        "import arenite.host.camera.sinks.jsonl, arenite.host.camera.sinks.mqtt, arenite.host.camera.sinks.callback\n"
        "s.Dashboard()\n"
        "late = ('http.server', 'socketserver', 'paho', 'rich', 'cv2', 'asyncio', 'h11')\n"
        "print([m for m in late if m in sys.modules])"
    )
    stdout = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert stdout.strip() == "[]"
