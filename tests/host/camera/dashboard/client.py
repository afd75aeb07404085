"""HTTP clients for the tests of the dashboard."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from arenite.host.camera.dashboard.server import Dashboard


def connect(dashboard: Dashboard) -> http.client.HTTPConnection:
    """Return a connection to the dashboard on this computer."""
    return http.client.HTTPConnection("127.0.0.1", urlsplit(dashboard.url).port or 0, timeout=30)


def get(
    dashboard: Dashboard, path: str, method: str = "GET", **headers: str
) -> tuple[int, http.client.HTTPMessage, bytes]:
    """Return the status, the headers and the body of an answer. In the names of ``headers``, ``_`` stands for ``-``."""
    connection = connect(dashboard)
    connection.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


class Events:
    """A client that reads the dashboard's server-sent events."""

    def __init__(self, dashboard: Dashboard) -> None:
        self.connection = connect(dashboard)
        self.connection.request("GET", "/events")
        self.answer = self.connection.getresponse()

    def next(self) -> tuple[str, Any]:
        """Wait for the next event and return its name and its data, parsed as JSON."""
        name = self.answer.readline().decode().removeprefix("event: ").strip()
        data = json.loads(self.answer.readline().decode().removeprefix("data: "))
        assert self.answer.readline() == b"\n"
        return name, data
