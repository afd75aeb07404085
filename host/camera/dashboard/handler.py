"""The HTTP interface of the dashboard: the content of each path, and the check whether the client may read it.

h11 parses requests and frames answers. Only complete requests are passed to it.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from importlib.resources import files
from typing import Any, Protocol
from urllib.parse import parse_qs

import h11

from arenite.host.camera.dashboard.access import Access
from arenite.host.camera.dashboard.connection_server import (
    Connection,
    ConnectionServer,
    RequestTooLargeError,
)
from arenite.host.camera.dashboard.login_attempts import LoginAttempts
from arenite.host.camera.dashboard.preview import Preview
from arenite.host.camera.dashboard.request_headers import ambiguity
from arenite.host.camera.observe.metrics import Metrics
from arenite.host.camera.observe.prometheus_text import CONTENT_TYPE

_JSON = "application/json; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_FILES = {
    "/": "page.html",
    **{f"/{n}": n for n in ("page.css", "page.js", "charts.js", "picture.js", "panels.js", "icon.svg")},
}
_SECURITY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
#: If there is no news, an event stream sends a ping after this number of seconds.
_PING_S = 15.0
#: A request for a newer picture waits for at most this number of seconds.
_FRAME_WAIT_S = 5.0
#: The answer to a wrong token is delayed by this number of seconds, to slow down guessing.
_WRONG_TOKEN_DELAY_S = 0.3

_Headers = list[tuple[str, str]]


class DashboardContent(Protocol):
    """The content that the handler sends. ``Dashboard`` implements it. Any thread may use all members."""

    access: Access
    metrics: Metrics
    preview: Preview
    cameras: int  # the number of cameras that have sent frames so far
    ended: bool

    def health(self) -> tuple[bool, str]: ...
    def answers(self) -> dict[str, Any] | None: ...
    def hello(self) -> tuple[int, dict[str, Any]]: ...
    def news(self, after: int) -> list[tuple[int, dict[str, Any]]] | None: ...


class DashboardServer(ConnectionServer):
    """Serves ``content`` at ``host`` and ``port``, as ``ConnectionServer`` describes. ``report`` is also called with
    lines about clients that give wrong tokens."""

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
        self.attempts = LoginAttempts(report)
        super().__init__(host, port, max_clients, tls, report)

    async def serve(self, connection: Connection) -> None:
        await Handler(self, connection).run()


class Handler:
    """Handles the requests of one connection. Only GET and HEAD are answered. Access is checked for every path except
    ``/healthz`` and ``/favicon.ico``."""

    def __init__(self, server: DashboardServer, connection: Connection) -> None:
        self._server = server
        self._content = server.content
        self._connection = connection
        self._http = h11.Connection(h11.SERVER)
        self._headers: dict[str, str] = {}
        self._is_head = False  # whether the request asks for the headers only
        self._closes = False  # whether the connection ends after the answer

    async def run(self) -> None:
        """Answer requests until the connection ends. Raises ``OSError`` if it breaks."""
        while not self._closes:
            self._is_head = False
            try:
                head = await self._connection.receive()
            except RequestTooLargeError:
                await self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The request is too long.")
                return
            if head is None:
                return
            await self._answer(head)
            if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                return
            self._http.start_next_cycle()

    async def _answer(self, head: bytes) -> None:
        problem = ambiguity(head)
        if not problem:
            self._http.receive_data(head)
            try:
                request = self._http.next_event()
            except h11.RemoteProtocolError as error:
                problem = f"{error}."
        if problem:
            await self._refuse(HTTPStatus.BAD_REQUEST, problem)
            return
        assert isinstance(request, h11.Request)
        self._headers = {name.decode(): value.decode("latin-1") for name, value in request.headers}
        # Nothing here reads the body of a request, so its bytes would be parsed as the next request. Behind a proxy,
        # the next request may belong to another client. The connection is therefore closed after a request with a body.
        self._closes = "transfer-encoding" in self._headers or self._headers.get("content-length", "0") != "0"
        if not self._closes:
            self._http.next_event()  # the end of the request
        if request.method not in (b"GET", b"HEAD"):
            status = HTTPStatus.METHOD_NOT_ALLOWED
            await self._refuse(status, f"{status.phrase}.", [("Allow", "GET, HEAD")])
            return
        self._is_head = request.method == b"HEAD"
        path, _, query = request.target.decode("latin-1").partition("?")
        await self._get(path, parse_qs(query))

    async def _get(self, path: str, query: dict[str, list[str]]) -> None:
        if path in ("/healthz", "/favicon.ico") and not self._connection.is_admitted:
            self._closes = True  # these paths need no token, so their connections are not kept
        if path == "/healthz":
            is_healthy, text = self._content.health()
            await self._send(
                text + "\n", _TEXT, HTTPStatus.OK if is_healthy else HTTPStatus.SERVICE_UNAVAILABLE
            )
        elif path == "/favicon.ico":
            # Browsers request it even for an error's text.
            await self._send(b"", _TEXT, HTTPStatus.NO_CONTENT)
        elif await self._allowed(path, query):
            await self._route(path, query)

    async def _route(self, path: str, query: dict[str, list[str]]) -> None:
        content = self._content
        if path in _FILES:
            name = _FILES[path]
            text = files("arenite.host.camera.dashboard").joinpath(name).read_bytes()
            await self._send(text, _TYPES[name.rsplit(".", 1)[1]])
        elif path == "/events":
            await self._events()
        elif path == "/frame":
            await self._frame(query)
        elif path == "/metrics":
            await self._send(content.metrics.text(), CONTENT_TYPE)
        elif path == "/answers":
            await self._send(_dumps(content.answers()), _JSON)
        elif path == "/state":
            await self._send(_dumps(content.hello()[1]["state"]), _JSON)
        elif path == "/log":
            await self._send(_dumps(content.hello()[1]["log"]), _JSON)
        else:
            await self._send("There is no such page.\n", _TEXT, HTTPStatus.NOT_FOUND)

    async def _frame(self, query: dict[str, list[str]]) -> None:
        """Send the newest picture (``preview.pack``) of the camera that the query names. If the query has ``after``,
        wait for a picture with another number, and send status 204 if there is none."""
        after, camera = _number(query, "after", -1), _number(query, "camera", 0)
        if not 0 <= camera < self._content.cameras:
            await self._send("There is no such camera.\n", _TEXT, HTTPStatus.NOT_FOUND)
            return
        preview = self._content.preview
        last = preview.request(after, camera)
        newest = await self._server.until(partial(preview.newer, last, camera), _FRAME_WAIT_S)
        if newest is not None and newest[1]:
            await self._send(newest[1], "application/octet-stream", more=[("X-Count", str(newest[0]))])
        else:
            await self._send(b"", _TEXT, HTTPStatus.NO_CONTENT)

    async def _events(self) -> None:
        """Send server-sent events: ``hello`` first, then ``news``. A client that is too slow to receive all
        news gets ``hello`` again."""
        self._closes = True
        await self._write(self._head(HTTPStatus.OK, "text/event-stream", []))
        if not self._is_head:
            await self._send_events()
        await self._write(h11.EndOfMessage())

    async def _send_events(self) -> None:
        content = self._content
        number, hello = content.hello()
        await self._event("hello", hello)
        while not content.ended:
            news = await self._server.until(partial(self._news, number), _PING_S)
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
        await self._write(h11.Data(f"event: {name}\ndata: {_dumps(value)}\n\n".encode()))

    async def _allowed(self, path: str, query: dict[str, list[str]]) -> bool:
        """Return whether the client may read ``path``. Otherwise send the answer: an error, or a redirection that sets
        the cookie."""
        access, server, connection = self._content.access, self._server, self._connection
        cookie_name = access.cookie_name(server.port)
        cookie = _cookies(self._headers.get("cookie", "")).get(cookie_name)
        token = query["token"][0] if "token" in query else None
        given = (token, self._headers.get("authorization"), cookie)
        attempts = [value for value in given if value is not None] if access.token is not None else []
        # An admitted connection may go on, because its client is not the one that guesses.
        wait_s = server.attempts.wait_s(connection.network) if attempts and not connection.is_admitted else 0
        if wait_s > 0:
            self._closes = True
            text = "Too many wrong tokens came from this address. Try again later.\n"
            retry = [("Retry-After", str(int(wait_s) + 1))]
            await self._send(text, _TEXT, HTTPStatus.TOO_MANY_REQUESTS, retry)
            return False
        verdict = access.check(lambda name: self._headers.get(name.lower()), token, cookie)
        if verdict.status == HTTPStatus.OK:
            connection.admit()
        else:
            self._closes = True
        if verdict.cookie:
            # The token is moved from the address to a cookie, to keep it out of bookmarks and screenshots.
            text = f"{cookie_name}={verdict.cookie}; HttpOnly; SameSite=Lax; Path=/"
            text += "; Secure" if server.is_encrypted else ""
            # Browsers treat a backslash as a slash, and treat two slashes as the start of another site's name.
            more = [("Location", "/" + path.lstrip("/\\")), ("Set-Cookie", text)]
            await self._send(b"", _TEXT, HTTPStatus.SEE_OTHER, more)
            return False
        if verdict.status != HTTPStatus.OK:
            more = []
            if verdict.status == HTTPStatus.UNAUTHORIZED:
                more.append(("WWW-Authenticate", 'Bearer realm="arenite"'))
                for value in attempts:
                    server.attempts.failed(connection.network, value)
                if attempts:
                    await asyncio.sleep(_WRONG_TOKEN_DELAY_S)
            await self._send(verdict.why + "\n", _TEXT, verdict.status, more)
            return False
        return True

    async def _refuse(self, status: HTTPStatus, text: str, more: _Headers | None = None) -> None:
        """Answer a malformed request, or a method other than GET and HEAD, and close the connection."""
        self._closes = True
        await self._send(f"{text}\n", _TEXT, status, more)

    async def _send(
        self,
        body: str | bytes,
        kind: str,
        status: HTTPStatus = HTTPStatus.OK,
        more: _Headers | None = None,
    ) -> None:
        data = body.encode() if isinstance(body, str) else body
        length = [] if status == HTTPStatus.NO_CONTENT else [("Content-Length", str(len(data)))]
        message = [] if self._is_head else [h11.Data(data)]
        await self._write(self._head(status, kind, [*length, *(more or [])]), *message, h11.EndOfMessage())

    def _head(self, status: HTTPStatus, kind: str, more: _Headers) -> h11.Response:
        headers = [
            ("Server", "arenite"),
            ("Date", formatdate(usegmt=True)),
            ("Content-Type", kind),
            *([("Connection", "close")] if self._closes else []),
            *_SECURITY.items(),
            *more,
        ]
        return h11.Response(status_code=status, reason=status.phrase, headers=headers)

    async def _write(self, *events: h11.Event) -> None:
        # With this method, h11 does not copy the data.
        parts = [self._http.send_with_data_passthrough(event) for event in events]
        await self._connection.send(*(part for event in parts if event is not None for part in event))


def _cookies(header: str) -> dict[str, str]:
    """Return the cookies of a Cookie header.

    Browsers send the cookies of all servers of this computer, also those with names and values that RFC 6265 does not
    allow. ``http.cookies`` would stop at the first of these, and lose the dashboard's own cookie.
    """
    pairs = (part.partition("=") for part in header.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


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
