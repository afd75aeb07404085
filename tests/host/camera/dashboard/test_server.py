"""Tests of the dashboard's HTTP server: its paths, headers and events, and that no client delays the camera loop."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest

from arenite.errors import UsageError
from arenite.host.camera.dashboard import server as server_module
from arenite.host.camera.dashboard.server import Dashboard
from arenite.host.camera.observe.history import FIELDS
from tests.host.camera.dashboard.client import Events, get
from tests.host.camera.dashboard.simulated_run import Feeder, face, served_of, state_at


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
    began_s = time.monotonic()
    dashboard.update(state_at(1))
    assert get(dashboard, "/healthz")[::2] == (200, b"ok\n")
    monkeypatch.setattr(server_module, "STALLED_S", -1.0)
    status, _, body = get(dashboard, "/healthz")
    stalled = re.fullmatch(rb"stalled for (\d+) s\n", body)
    assert status == 503 and stalled and int(stalled[1]) <= round(time.monotonic() - began_s)


def test_answers_state_log_and_metrics_are_served(dashboard: Dashboard) -> None:
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


def picture(dashboard: Dashboard, query: str = "") -> tuple[int, http.client.HTTPMessage, bytes]:
    """Request a picture for up to a minute. On a busy computer, no picture may be ready within the server's limit: then
    the answer is 204."""
    end = time.monotonic() + 60
    while (answer := get(dashboard, "/frame" + query))[0] == 204 and time.monotonic() < end:
        pass
    return answer


def test_frames_are_served_as_pictures_with_their_answers(dashboard: Dashboard) -> None:
    with Feeder(dashboard) as feeder:
        first = picture(dashboard)
        second = picture(dashboard, f"?after={first[1]['X-Count']}")
        without_count = picture(dashboard, "?after=x")
    assert (first[0], second[0], without_count[0]) == (200, 200, 200)
    assert first[2][:4] == b"ARF1" and int(second[1]["X-Count"]) > int(first[1]["X-Count"])
    length = int.from_bytes(first[2][4:8], "little")
    header = json.loads(first[2][8 : 8 + length])
    assert (header["width"], header["height"]) == (480, 270) and len(first[2]) == 8 + length + 480 * 270 * 3
    assert header["answer"]["boxes"][0]["label"] == "face"
    dashboard.close()
    # Every buffer was released.
    assert sorted(feeder.released) == list(range(feeder.handed))


def test_a_missing_camera_is_not_found(dashboard: Dashboard) -> None:
    for camera in (1, -1, 10**9):
        assert get(dashboard, f"/frame?camera={camera}")[0] == 404
    assert not dashboard.preview.watched


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


def test_the_dashboard_listens_on_ipv6() -> None:
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


def test_a_dashboard_that_never_started_accepts_frames_and_closes_twice() -> None:
    server = Dashboard()
    server.take(served_of(0), None)
    server.update(state_at(0))
    server.close()
    server.close()


def test_a_dashboard_that_is_not_started_imports_no_server_module() -> None:
    script = (
        "import sys, arenite.host.camera.dashboard.server as s, arenite.host.camera.observe.timeline\n"
        "import arenite.host.camera.sinks.jsonl, arenite.host.camera.sinks.mqtt, arenite.host.camera.sinks.callback\n"
        "s.Dashboard()\n"
        "late = ('http.server', 'socketserver', 'paho', 'rich', 'cv2', 'asyncio', 'h11')\n"
        "print([m for m in late if m in sys.modules])"
    )
    stdout = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert stdout.strip() == "[]"
