"""The HTTP interface of the dashboard: the content of each path."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Protocol

import h11

from arenite.host.camera.dashboard.preview import Preview
from arenite.host.camera.observe.metrics import Metrics
from arenite.host.camera.observe.prometheus_text import CONTENT_TYPE
from arenite.host.http_server.access import Access
from arenite.host.http_server.connection_server import Connection
from arenite.host.http_server.request_handler import (
    CONTENT_TYPES,
    PAGE_POLICY,
    TEXT,
    AuthenticatingServer,
    RequestHandler,
)

_JSON = CONTENT_TYPES["json"]
_FILES = {
    "/": "page.html",
    **{f"/{n}": n for n in ("page.css", "page.js", "charts.js", "picture.js", "panels.js", "icon.svg")},
}
#: If there is no news, an event stream sends a ping after this number of seconds.
_PING_S = 15.0
#: A request for a newer picture waits for at most this number of seconds.
_FRAME_WAIT_S = 5.0


class DashboardContent(Protocol):
    """The content that the handler sends. ``Dashboard`` implements it. Any thread may use all members.

    The loop's updates are numbered. ``hello`` returns (number of the newest update, all content of a new page), and
    ``news`` the numbered updates after number ``after``, or None if some of them are no longer stored. ``health``
    returns (whether the loop works, a text for people), and ``answers`` the newest answers.
    """

    access: Access
    metrics: Metrics
    preview: Preview
    cameras: int  # the number of cameras that have sent frames so far
    ended: bool

    def health(self) -> tuple[bool, str]: ...
    def answers(self) -> dict[str, Any] | None: ...
    def hello(self) -> tuple[int, dict[str, Any]]: ...
    def news(self, after: int) -> list[tuple[int, dict[str, Any]]] | None: ...


class DashboardServer(AuthenticatingServer):
    """Serves ``content`` at ``host`` and ``port``, as ``AuthenticatingServer`` describes."""

    def __init__(
        self,
        host: str,
        port: int,
        content: DashboardContent,
        max_clients: int,
        tls: ssl.SSLContext | None,
        report: Callable[[str], None],
    ) -> None:
        self.content = content
        super().__init__(host, port, content.access, max_clients, tls, report)

    async def serve(self, connection: Connection) -> None:
        await Handler(self, connection).run()


class Handler(RequestHandler):
    """Handles the requests of one connection to the dashboard."""

    public_paths = frozenset({"/favicon.ico", "/healthz"})

    def __init__(self, server: DashboardServer, connection: Connection) -> None:
        super().__init__(server, connection)
        self._content = server.content

    @property
    def policy(self) -> Mapping[str, str]:
        return PAGE_POLICY

    async def get(self, path: str, query: dict[str, list[str]]) -> None:
        content = self._content
        if path in _FILES:
            await self.send_file("arenite.host.camera.dashboard", _FILES[path])
        elif path == "/theme.js":
            await self.send_file("arenite.host.http_server", "theme.js")
        elif path == "/healthz":
            is_healthy, text_line = content.health()
            status = HTTPStatus.OK if is_healthy else HTTPStatus.SERVICE_UNAVAILABLE
            await self.send(text_line + "\n", TEXT, status)
        elif path == "/events":
            await self._events()
        elif path == "/frame":
            await self._frame(query)
        elif path == "/metrics":
            await self.send(content.metrics.text(), CONTENT_TYPE)
        elif path == "/answers":
            await self.send(_dumps(content.answers()), _JSON)
        elif path == "/state":
            await self.send(_dumps(content.hello()[1]["state"]), _JSON)
        elif path == "/log":
            await self.send(_dumps(content.hello()[1]["log"]), _JSON)
        else:
            await self.send("There is no such page.\n", TEXT, HTTPStatus.NOT_FOUND)

    async def _frame(self, query: dict[str, list[str]]) -> None:
        """Send the newest picture (``preview.pack``) of the camera that the query names. If the query has ``after``,
        wait for a picture with another number, and send status 204 if there is none."""
        after, camera = _number(query, "after", -1), _number(query, "camera", 0)
        if not 0 <= camera < self._content.cameras:
            await self.send("There is no such camera.\n", TEXT, HTTPStatus.NOT_FOUND)
            return
        preview = self._content.preview
        last = preview.request(after, camera)
        newest = await self.server.wait_for(partial(preview.newer, last, camera), _FRAME_WAIT_S)
        if newest is not None and newest[1]:
            await self.send(newest[1], "application/octet-stream", more=[("X-Count", str(newest[0]))])
        else:
            await self.send(b"", TEXT, HTTPStatus.NO_CONTENT)

    async def _events(self) -> None:
        """Send server-sent events: ``hello`` first, then ``news``. A client that is too slow to receive all
        news gets ``hello`` again."""
        self.closes = True
        await self.write(self.head(HTTPStatus.OK, "text/event-stream", []))
        if not self.is_head:
            await self._send_events()
        await self.write(h11.EndOfMessage())

    async def _send_events(self) -> None:
        content = self._content
        number, hello = content.hello()
        await self._event("hello", hello)
        while not content.ended:
            news = await self.server.wait_for(partial(self._news, number), _PING_S)
            if content.ended:
                return
            if news is None:
                await self._event("ping", {})
            elif not news:
                number, hello = content.hello()
                await self._event("hello", hello)
            else:
                for _, entry in news:
                    await self._event("news", entry)
                number = news[-1][0]

    def _news(self, after: int) -> list[tuple[int, dict[str, Any]]] | None:
        """Return the updates after number ``after``, None if there are none yet, and [] if some of them are no longer
        stored or if the dashboard has ended."""
        if self._content.ended:
            return []
        news = self._content.news(after)
        return [] if news is None else news or None

    async def _event(self, name: str, value: Any) -> None:
        await self.write(h11.Data(f"event: {name}\ndata: {_dumps(value)}\n\n".encode()))


def _number(query: dict[str, list[str]], name: str, default: int) -> int:
    try:
        return int(query[name][0])
    except (KeyError, ValueError):
        return default


def _dumps(value: Any) -> str:
    # JSON has no NaN and no infinity, so these values become null.
    try:
        return json.dumps(value, separators=(",", ":"), default=str, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), separators=(",", ":"), default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and (value != value or abs(value) == float("inf")) else value
