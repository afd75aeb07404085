"""The dashboard's HTTP: what is served, to whom, and that no client holds the loop up."""

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
from arenite.host.camera.dashboard import connection_server
from arenite.host.camera.dashboard import server as server_module
from arenite.host.camera.dashboard.server import Dashboard
from arenite.host.camera.observe.history import FIELDS
from tests.host.camera.dashboard.simulated_run import Feeder, face, served_of, state_at

TOKEN = "sand-and-pressure"


@pytest.fixture
def dashboard() -> Iterator[Dashboard]:
    made = Dashboard(title="door <camera>")
    made.start()
    yield made
    made.close()


def get(
    dashboard: Dashboard, path: str, method: str = "GET", **headers: str
) -> tuple[int, http.client.HTTPMessage, bytes]:
    at = urlsplit(dashboard.url)
    connection = http.client.HTTPConnection("127.0.0.1", at.port or 0, timeout=30)
    connection.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


class Events:
    """A reader of server-sent events."""

    def __init__(self, dashboard: Dashboard) -> None:
        at = urlsplit(dashboard.url)
        self.connection = http.client.HTTPConnection("127.0.0.1", at.port or 0, timeout=30)
        self.connection.request("GET", "/events")
        self.answer = self.connection.getresponse()

    def next(self) -> tuple[str, Any]:
        name = self.answer.readline().decode().removeprefix("event: ").strip()
        data = json.loads(self.answer.readline().decode().removeprefix("data: "))
        assert self.answer.readline() == b"\n"
        return name, data


def test_the_page_and_its_parts_come_with_headers_that_guard_it(dashboard: Dashboard) -> None:
    kinds = {}
    for path in ("/", "/page.css", "/page.js", "/charts.js", "/picture.js", "/panels.js", "/icon.svg"):
        status, headers, body = get(dashboard, path)
        assert status == 200 and len(body) > 300
        kinds[path] = headers["Content-Type"].split(";")[0]
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy and headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer"
        assert headers["Access-Control-Allow-Origin"] is None and "Python" not in headers["Server"]
    assert (
        kinds["/"] == "text/html"
        and kinds["/page.js"] == "text/javascript"
        and kinds["/icon.svg"] == "image/svg+xml"
    )
    page = get(dashboard, "/")[2].decode()
    assert (
        "<style" not in page
        and " style=" not in page
        and " onclick=" not in page
        and "//" not in page.split("<svg")[0]
    )


def test_no_other_paths_and_methods(dashboard: Dashboard) -> None:
    for path in ("/nothing", "/../server.py", "/server.py", "/page.html/", "/%2e%2e/server.py"):
        assert get(dashboard, path)[0] == 404, path
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        status, headers, _ = get(dashboard, "/", method)
        assert status == 405 and headers["Content-Security-Policy"]
    status, headers, body = get(dashboard, "/", "HEAD")
    assert status == 200 and body == b"" and int(headers["Content-Length"]) > 1000


def test_health_follows_the_loop(dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_what_is_no_number_is_sent_as_unknown(dashboard: Dashboard) -> None:
    dashboard.update(state_at(1) | {"fps": float("nan"), "extra": [float("inf"), {"x": (1.0, 2)}]})
    found = json.loads(get(dashboard, "/state")[2], parse_constant=lambda name: pytest.fail(name))
    assert found["fps"] is None and found["extra"] == [None, {"x": [1.0, 2]}]


def test_events_begin_with_all_and_go_on_with_news(dashboard: Dashboard) -> None:
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
    assert [found["point"][0] for _, found in news] == [25.0, 65.0]
    assert [a["t_s"] for a in news[1][1]["log"]] == [40.0, 60.0]
    dashboard.close()
    assert events.answer.readline() == b""


def test_a_client_that_reads_nothing_costs_the_others_nothing(dashboard: Dashboard) -> None:
    """More news than sockets and buffers take."""
    slow = Events(dashboard)
    padding = "x" * 40_000
    for step in range(500):
        dashboard.update(state_at(step) | {"notes": [padding]})
    fresh = Events(dashboard)
    assert fresh.next()[1]["state"]["t_s"] == 249.5
    # Once it reads again it gets what it missed, or everything anew, and then the newest.
    while (found := slow.next())[1]["state"].get("t_s") != 249.5:
        pass
    assert found[0] in ("hello", "news")


def test_pictures(dashboard: Dashboard) -> None:
    with Feeder(dashboard) as feeder:
        first = get(dashboard, "/frame")
        second = get(dashboard, f"/frame?after={first[1]['X-Count']}")
        odd = get(dashboard, "/frame?after=x")
    assert (first[0], second[0], odd[0]) == (200, 200, 200)
    assert first[2][:4] == b"ARF1" and int(second[1]["X-Count"]) > int(first[1]["X-Count"])
    length = int.from_bytes(first[2][4:8], "little")
    header = json.loads(first[2][8 : 8 + length])
    assert (header["width"], header["height"]) == (480, 270) and len(first[2]) == 8 + length + 480 * 270 * 3
    assert header["answer"]["boxes"][0]["label"] == "face"
    dashboard.close()
    # Every buffer came back.
    assert sorted(feeder.released) == list(range(feeder.handed))


def test_too_many_clients_are_turned_away_and_one_that_leaves_makes_room() -> None:
    made = Dashboard(max_clients=2)
    made.start()
    one, two = Events(made), Events(made)
    assert get(made, "/healthz")[0] == 503 and get(made, "/")[0] == 503
    assert get(made, "/")[1]["Retry-After"] == "5"
    one.connection.close()
    one.answer.close()
    # The server notices with the next write.
    end = time.monotonic() + 60
    status = 503
    while status == 503 and time.monotonic() < end:
        made.update(state_at(1))
        status = get(made, "/")[0]
    assert status == 200 and two.next()[0] == "hello"
    made.close()


def test_names_that_are_not_ours_and_other_sites(dashboard: Dashboard) -> None:
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
    made = Dashboard("0.0.0.0", token=TOKEN)
    assert f"?token={TOKEN}" in made.start()
    port = urlsplit(made.url).port
    with contextlib.closing(made):
        for path in ("/", "/events", "/frame", "/metrics", "/answers", "/state", "/log", "/page.js"):
            status, headers, body = get(made, path)
            assert (
                status == 401
                and headers["WWW-Authenticate"].startswith("Bearer")
                and b"needs its token" in body
            )
        assert get(made, "/healthz")[0] == 503
        assert get(made, "/?token=wrong-and-long")[0] == 401
        assert get(made, "/metrics", Authorization=f"Bearer {TOKEN}")[0] == 200
        assert get(made, "/metrics", Authorization="Bearer wrong")[0] == 401
        status, headers, _ = get(made, f"/?token={TOKEN}")
        assert status == 303 and headers["Location"] == "/"
        name, _, rest = headers["Set-Cookie"].partition("=")
        assert (
            name == f"arenite_{port}" and "HttpOnly" in rest and "SameSite=Lax" in rest and TOKEN not in rest
        )
        cookie = f"{name}={rest.split(';')[0]}"
        assert get(made, "/", Cookie=cookie)[0] == 200 and get(made, "/", Cookie=f"a=b; {cookie}")[0] == 200
        assert get(made, "/", Cookie=f"{name}=x")[0] == 401 and get(made, "/", Cookie="\x01;=;")[0] == 401
        # No way to another site by way of the redirection.
        for path in ("//evil.example/", "/\\evil.example/", "\\\\evil.example/"):
            assert get(made, f"{path}?token={TOKEN}")[1]["Location"] == "/evil.example/"


def test_a_body_is_not_taken_for_another_request(dashboard: Dashboard) -> None:
    """Behind a proxy that is shared, its answer would go to whoever asks next."""
    inner = b"GET /state HTTP/1.1\r\nHost: localhost\r\n\r\n"
    sized = b"Content-Length: %d" % len(inner)
    for header in (sized, b"Transfer-Encoding: chunked", sized.replace(b": ", b": +")):
        with socket.create_connection(("127.0.0.1", urlsplit(dashboard.url).port or 0), 30) as raw:
            raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + header + b"\r\n\r\n" + inner)
            got = b""
            with contextlib.suppress(ConnectionResetError):
                while part := raw.recv(65536):
                    got += part
        assert got.count(b"HTTP/1.1 ") == 1 and b"\r\nConnection: close\r\n" in got


def test_a_request_has_to_come_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte by byte, each of them in time, a few clients would have all connections."""
    monkeypatch.setattr(connection_server, "REQUEST_TIMEOUT_S", 0.3)
    made = Dashboard(max_clients=1)
    made.start()
    port = urlsplit(made.url).port or 0
    with contextlib.closing(made), socket.create_connection(("127.0.0.1", port), 30) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        raw.settimeout(0.05)
        for _ in range(200):
            with contextlib.suppress(TimeoutError, ConnectionError):
                raw.sendall(b"X: y\r\n")
                if raw.recv(1) == b"":
                    break
        else:
            pytest.fail("nobody hung up")
        end = time.monotonic() + 60
        events = Events(made)
        while events.answer.status == 503 and time.monotonic() < end:
            events = Events(made)
        # One that has come may take as long as it likes.
        assert events.next()[0] == "hello"
        time.sleep(0.6)
        made.update(state_at(1))
        assert events.next()[0] == "news"


def test_cameras_that_are_not_there_are_not_waited_for(dashboard: Dashboard) -> None:
    for camera in (1, -1, 10**9):
        assert get(dashboard, f"/frame?camera={camera}")[0] == 404
    assert not dashboard.preview.watched


def test_addresses_that_cannot_be_had(dashboard: Dashboard) -> None:
    port = urlsplit(dashboard.url).port or 0
    for host, taken in (("127.0.0.1", port), ("localhost", 70_000), ("127.0.0.1", -1)):
        with pytest.raises(UsageError, match=f"cannot listen on {host}, port {taken}"):
            Dashboard(host, taken).start()
    with pytest.raises(UsageError, match="has no token"):
        Dashboard("0.0.0.0")


def test_ipv6() -> None:
    made = Dashboard("::1")
    try:
        url = made.start()
    except UsageError:
        pytest.skip("no IPv6 here")
    with contextlib.closing(made):
        assert url.startswith("http://[::1]:")
        connection = http.client.HTTPConnection("::1", urlsplit(url).port or 0, timeout=30)
        connection.request("GET", "/page.css")
        assert connection.getresponse().status == 200
        connection.close()


def test_closing_twice_and_never_started() -> None:
    made = Dashboard()
    made.take(served_of(0), None)
    made.update(state_at(0))
    made.close()
    made.close()


def test_no_server_is_loaded_before_it_starts() -> None:
    script = (
        "import sys, arenite.host.camera.dashboard.server as s, arenite.host.camera.observe.timeline\n"
        "import arenite.host.camera.sinks.jsonl, arenite.host.camera.sinks.mqtt, arenite.host.camera.sinks.callback\n"
        "s.Dashboard()\n"
        "print([m for m in ('http.server', 'socketserver', 'paho', 'rich', 'cv2', 'asyncio') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
