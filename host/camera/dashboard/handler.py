"""The HTTP interface of the dashboard: the content of each path, and the check whether the client may read it."""

from __future__ import annotations

import json
import time
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler
from importlib.resources import files
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

from arenite.host.camera.dashboard.access import Access
from arenite.host.camera.dashboard.connection_server import BoundedTcpServer
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
    def news(self, after: int, seconds: float) -> list[tuple[int, dict[str, Any]]] | None: ...


class DashboardServer(BoundedTcpServer):
    """Serves ``content`` at ``host`` and ``port``. With port 0, the system chooses a free port. Raises ``OSError``."""

    def __init__(self, host: str, port: int, content: DashboardContent, max_clients: int) -> None:
        self.content = content
        super().__init__(host, port, Handler, max_clients)


class Handler(BaseHTTPRequestHandler):
    """Handles the requests of one connection. Only GET and HEAD are answered. Access is checked for every path except
    ``/healthz`` and ``/favicon.ico``."""

    protocol_version = "HTTP/1.1"
    server_version = "arenite"
    sys_version = ""
    timeout = 20  # the limit of each read and write in seconds
    # Every handler has the server that created it; socketserver declares only the base class.
    server: DashboardServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def handle_one_request(self) -> None:
        self.server.expect_request(self.connection)
        super().handle_one_request()

    def parse_request(self) -> bool:
        is_valid = super().parse_request()
        self.server.request_received(self.connection)
        if is_valid and (problem := ambiguity(self.headers)):
            self.close_connection = True
            self._send(f"{problem}\n", _TEXT, HTTPStatus.BAD_REQUEST)
            return False
        # No handler reads the body of a request, so its bytes would be parsed as the next request. Behind a proxy, the
        # next request may belong to another client. The connection is therefore closed after a request with a body.
        if is_valid and (
            self.headers.get("Transfer-Encoding") or self.headers.get("Content-Length", "0") != "0"
        ):
            self.close_connection = True
        return is_valid

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        if url.path in ("/healthz", "/favicon.ico") and not self.server.is_admitted(self.connection):
            self.close_connection = True  # these paths need no token, so their connections are not kept
        if url.path == "/healthz":
            is_healthy, text = self.server.content.health()
            self._send(text + "\n", _TEXT, HTTPStatus.OK if is_healthy else HTTPStatus.SERVICE_UNAVAILABLE)
        elif url.path == "/favicon.ico":
            self._send(b"", _TEXT, HTTPStatus.NO_CONTENT)  # browsers request it even for the text of an error
        elif self._allowed(url.path, query):
            self._route(url.path, query)

    do_HEAD = do_GET

    def _route(self, path: str, query: dict[str, list[str]]) -> None:
        content = self.server.content
        if path in _FILES:
            name = _FILES[path]
            text = files("arenite.host.camera.dashboard").joinpath(name).read_bytes()
            self._send(text, _TYPES[name.rsplit(".", 1)[1]])
        elif path == "/events":
            self._events()
        elif path == "/frame":
            self._frame(query)
        elif path == "/metrics":
            self._send(content.metrics.text(), CONTENT_TYPE)
        elif path == "/answers":
            self._send(_dumps(content.answers()), _JSON)
        elif path == "/state":
            self._send(_dumps(content.hello()[1]["state"]), _JSON)
        elif path == "/log":
            self._send(_dumps(content.hello()[1]["log"]), _JSON)
        else:
            self._send("There is no such page.\n", _TEXT, HTTPStatus.NOT_FOUND)

    def _frame(self, query: dict[str, list[str]]) -> None:
        """Send the newest picture (``preview.pack``) of the camera that the query names. If the query has ``after``,
        wait for a picture with another number, and send status 204 if there is none."""
        after, camera = _number(query, "after", -1), _number(query, "camera", 0)
        if not 0 <= camera < self.server.content.cameras:
            self._send("There is no such camera.\n", _TEXT, HTTPStatus.NOT_FOUND)
            return
        count, message = self.server.content.preview.wait(after, _FRAME_WAIT_S, camera)
        if message:
            self._send(message, "application/octet-stream", more={"X-Count": str(count)})
        else:
            self._send(b"", _TEXT, HTTPStatus.NO_CONTENT)

    def _events(self) -> None:
        """Send server-sent events: ``hello`` first, then ``news``. A client that is too slow to receive all
        news gets ``hello`` again."""
        self.close_connection = True
        self.send_response(HTTPStatus.OK)
        self._headers("text/event-stream")
        self.end_headers()
        if self.command == "HEAD":
            return
        content = self.server.content
        number, hello = content.hello()
        self._event("hello", hello)
        while not content.ended:
            news = content.news(number, _PING_S)
            if content.ended:
                return
            if news is None:
                number, hello = content.hello()
                self._event("hello", hello)
            elif not news:
                self._event("ping", {})
            else:
                for _, entry in news:
                    self._event("news", entry)
                number = news[-1][0]

    def _event(self, name: str, value: Any) -> None:
        self.wfile.write(f"event: {name}\ndata: {_dumps(value)}\n\n".encode())

    def _allowed(self, path: str, query: dict[str, list[str]]) -> bool:
        """Return whether the client may read ``path``. Otherwise send the answer: an error, or a redirection that sets
        the cookie."""
        access, port = self.server.content.access, self.server.server_port
        try:
            token_cookie = SimpleCookie(self.headers.get("Cookie", "")).get(access.cookie_name(port))
        except CookieError:
            token_cookie = None
        given_token = query.get("token", [None])[0]
        verdict = access.check(
            self.headers.get, given_token, token_cookie.value if token_cookie is not None else None
        )
        if verdict.status == HTTPStatus.OK:
            self.server.admit(self.connection)
        else:
            self.close_connection = True
        if verdict.cookie:
            # The token is moved from the address to a cookie, to keep it out of bookmarks and screenshots.
            cookie = f"{access.cookie_name(port)}={verdict.cookie}; HttpOnly; SameSite=Lax; Path=/"
            # Browsers treat a backslash as a slash, and treat two slashes as the start of another site's name.
            more = {"Location": "/" + path.lstrip("/\\"), "Set-Cookie": cookie}
            self._send(b"", _TEXT, HTTPStatus.SEE_OTHER, more)
            return False
        if verdict.status != HTTPStatus.OK:
            more = {}
            if verdict.status == HTTPStatus.UNAUTHORIZED:
                more["WWW-Authenticate"] = 'Bearer realm="arenite"'
                if given_token is not None or self.headers.get("Authorization"):
                    time.sleep(_WRONG_TOKEN_DELAY_S)
            self._send(verdict.why + "\n", _TEXT, verdict.status, more)
            return False
        return True

    def _send(
        self,
        body: str | bytes,
        kind: str,
        status: HTTPStatus = HTTPStatus.OK,
        more: dict[str, str] | None = None,
    ) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self._headers(kind)
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(data)))
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _headers(self, kind: str) -> None:
        self.send_header("Content-Type", kind)
        if self.close_connection:
            self.send_header("Connection", "close")
        for name, value in _SECURITY.items():
            self.send_header(name, value)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a malformed request, or a method other than GET and HEAD."""
        self.close_connection = True
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code)
        self._send(f"{status.phrase}.\n", _TEXT, status)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing, because one line per request would fill the terminal."""


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
