"""Answer HTTP requests of clients that show the server's token. Subclasses choose the content of each path.

h11 parses requests and encodes answers. It gets only complete requests.
"""

from __future__ import annotations

import asyncio
import ssl
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from email.utils import formatdate
from http import HTTPStatus
from importlib.resources import files
from typing import ClassVar
from urllib.parse import parse_qs

import h11

from arenite.host.http_server.access import Access
from arenite.host.http_server.connection_server import (
    Connection,
    ConnectionServer,
    RequestTooLargeError,
)
from arenite.host.http_server.login_attempts import LoginAttempts
from arenite.host.http_server.request_headers import find_ambiguity

TEXT = "text/plain; charset=utf-8"
#: Content types by the suffix of a file.
CONTENT_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json; charset=utf-8",
    "svg": "image/svg+xml",
    "ts": "text/plain; charset=utf-8",
    "wasm": "application/wasm",
    "webmanifest": "application/manifest+json",
}
#: Headers of every answer, which forbid other sites to use it, and browsers to store it.
_SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
#: The policy of a page that loads scripts, styles, pictures and data only from its own server.
PAGE_POLICY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
#: The answer to a wrong token is delayed by this number of seconds, to slow down guessing.
_WRONG_TOKEN_DELAY_S = 0.3

Headers = list[tuple[str, str]]


class AuthenticatingServer(ConnectionServer):
    """A ``ConnectionServer`` whose handlers check ``access``. ``report`` is also called with lines about clients that
    give wrong tokens."""

    def __init__(
        self,
        host: str,
        port: int,
        access: Access,
        max_clients: int,
        tls: ssl.SSLContext | None,
        report: Callable[[str], None],
    ) -> None:
        self.access = access
        self.attempts = LoginAttempts(report, name=access.name)
        super().__init__(host, port, max_clients, tls, report, access.name)


class RequestHandler(ABC):
    """Handles the requests of one connection. Access is checked for every path except ``public_paths``."""

    #: Paths that need no token. Browsers request ``/favicon.ico`` even if they show only the text of an error.
    public_paths: ClassVar[frozenset[str]] = frozenset({"/favicon.ico"})

    def __init__(self, server: AuthenticatingServer, connection: Connection) -> None:
        self.server = server
        self._connection = connection
        self._http = h11.Connection(h11.SERVER)
        self.headers: dict[str, str] = {}  # of the request, with names in lower case
        self.is_head = False  # whether the request asks for the headers only
        self.closes = False  # whether the connection ends after the answer

    @abstractmethod
    async def get(self, path: str, query: dict[str, list[str]]) -> None:
        """Answer a GET or HEAD request."""

    @property
    def policy(self) -> Mapping[str, str]:
        """The headers that say what a page of this server may do."""
        return {}

    def max_body_bytes(self, path: str) -> int:
        """Return the maximum size of the body that a POST request to ``path`` may have; 0: no POST request."""
        return 0

    async def post(self, path: str, query: dict[str, list[str]], body: bytes) -> None:
        """Answer a POST request. This is called only for paths with a ``max_body_bytes`` above 0."""
        raise NotImplementedError

    async def run(self) -> None:
        """Answer requests until the connection ends. Raises ``OSError`` if it breaks."""
        while not self.closes:
            self.is_head = False
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
        problem = find_ambiguity(head)
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
        self.headers = {name.decode(): value.decode("latin-1") for name, value in request.headers}
        path, _, text = request.target.decode("latin-1").partition("?")
        query = parse_qs(text)
        max_bytes = self.max_body_bytes(path)
        if request.method == b"POST" and max_bytes:
            await self._answer_post(path, query, max_bytes)
            return
        # The body of such a request is not read, so its bytes would be parsed as the next request. Behind a proxy, the
        # next request may belong to another client. The connection is therefore closed after a request with a body.
        self.closes = "transfer-encoding" in self.headers or self.headers.get("content-length", "0") != "0"
        if not self.closes:
            self._http.next_event()  # the end of the request
        if request.method not in (b"GET", b"HEAD"):
            status = HTTPStatus.METHOD_NOT_ALLOWED
            allowed = "POST" if max_bytes else "GET, HEAD"
            await self._refuse(status, f"{status.phrase}.", [("Allow", allowed)])
            return
        self.is_head = request.method == b"HEAD"
        if path in self.public_paths:
            if not self._connection.is_admitted:
                self.closes = True  # these paths need no token, so their connections are not kept
            if path == "/favicon.ico":
                await self.send(b"", TEXT, HTTPStatus.NO_CONTENT)
            else:
                await self.get(path, query)
        elif await self.is_allowed(path, query):
            await self.get(path, query)

    async def _answer_post(self, path: str, query: dict[str, list[str]], max_bytes: int) -> None:
        """Check the client's access, then read the body of at most ``max_bytes`` and answer the request."""
        self.closes = True  # set to False when the body was read
        length = self.headers.get("content-length")
        if length is None or "transfer-encoding" in self.headers:
            await self._refuse(HTTPStatus.LENGTH_REQUIRED, "The request has no Content-Length.")
            return
        if int(length) > max_bytes:
            text = f"The body is longer than {max_bytes:,} bytes."
            await self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
            return
        if self.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            await self._refuse(HTTPStatus.FORBIDDEN, "Another site's page asked for this.")
            return
        if not await self.is_allowed(path, query):
            return
        body = await self._connection.receive_body(int(length))
        if body is None:
            return
        if body:  # for h11, empty data is the end of the connection
            self._http.receive_data(body)
        while not isinstance(self._http.next_event(), h11.EndOfMessage):
            pass
        self.closes = False
        await self.post(path, query, body)

    async def is_allowed(self, path: str, query: dict[str, list[str]]) -> bool:
        """Return whether the client may use ``path``. Otherwise send the answer: an error, or a redirection that sets
        the cookie. A subclass whose clients show something else than the server's token replaces this."""
        access, server, connection = self.server.access, self.server, self._connection
        cookie_name = access.cookie_name(server.port)
        cookie = _cookies(self.headers.get("cookie", "")).get(cookie_name)
        token = query["token"][0] if "token" in query else None
        given = (token, self.headers.get("authorization"), cookie)
        attempts = [value for value in given if value is not None] if access.token is not None else []
        # An admitted connection may go on, because its client is not the one that guesses.
        if attempts and not connection.is_admitted and await self.must_wait():
            return False
        verdict = access.check(lambda name: self.headers.get(name.lower()), token, cookie)
        if verdict.status == HTTPStatus.OK:
            connection.admit()
        else:
            self.closes = True
        if verdict.cookie:
            # The token is moved from the address to a cookie, to keep it out of bookmarks and screenshots.
            text = f"{cookie_name}={verdict.cookie}; HttpOnly; SameSite=Lax; Path=/"
            text += "; Secure" if server.is_encrypted else ""
            # Browsers treat a backslash as a slash, and treat two slashes as the start of another site's name.
            more = [("Location", "/" + path.lstrip("/\\")), ("Set-Cookie", text)]
            await self.send(b"", TEXT, HTTPStatus.SEE_OTHER, more)
            return False
        if verdict.status != HTTPStatus.OK:
            more = []
            if verdict.status == HTTPStatus.UNAUTHORIZED:
                more.append(("WWW-Authenticate", 'Bearer realm="arenite"'))
                for value in attempts:
                    server.attempts.failed(connection.network, value)
                if attempts:
                    await asyncio.sleep(_WRONG_TOKEN_DELAY_S)
            await self.send(verdict.why + "\n", TEXT, verdict.status, more)
            return False
        return True

    async def must_wait(self) -> bool:
        """Return whether too many wrong tokens came from the client's address. If so, send that answer."""
        wait_s = self.server.attempts.wait_s(self._connection.network)
        if wait_s <= 0:
            return False
        self.closes = True
        text = "Too many wrong tokens came from this address. Try again later.\n"
        retry = [("Retry-After", str(int(wait_s) + 1))]
        await self.send(text, TEXT, HTTPStatus.TOO_MANY_REQUESTS, retry)
        return True

    async def refuse_secret(self, given: str, text: str) -> None:
        """Count the wrong secret ``given``, and answer with ``text`` after a delay."""
        self.server.attempts.failed(self._connection.network, given)
        await asyncio.sleep(_WRONG_TOKEN_DELAY_S)
        await self._refuse(HTTPStatus.FORBIDDEN, text)

    async def _refuse(self, status: HTTPStatus, text: str, more: Headers | None = None) -> None:
        """Answer a request that is malformed or not allowed, and close the connection."""
        self.closes = True
        await self.send(f"{text}\n", TEXT, status, more)

    async def send(
        self,
        body: str | bytes,
        kind: str,
        status: HTTPStatus = HTTPStatus.OK,
        more: Headers | None = None,
    ) -> None:
        """Send an answer with ``body`` and its content type ``kind``. ``more`` are further headers."""
        data = body.encode() if isinstance(body, str) else body
        length = [] if status == HTTPStatus.NO_CONTENT else [("Content-Length", str(len(data)))]
        message = [] if self.is_head else [h11.Data(data)]
        await self.write(self.head(status, kind, [*length, *(more or [])]), *message, h11.EndOfMessage())

    async def send_file(self, package: str, name: str) -> None:
        """Send the file ``name`` of a Python package, with the content type of its suffix."""
        await self.send(files(package).joinpath(name).read_bytes(), CONTENT_TYPES[name.rsplit(".", 1)[1]])

    def head(self, status: HTTPStatus, kind: str, more: Headers) -> h11.Response:
        """Return the status line and the headers of an answer."""
        headers = [
            ("Server", "arenite"),
            ("Date", formatdate(usegmt=True)),
            ("Content-Type", kind),
            *([("Connection", "close")] if self.closes else []),
            *_SECURITY_HEADERS.items(),
            *self.policy.items(),
            *more,
        ]
        return h11.Response(status_code=status, reason=status.phrase, headers=headers)

    async def write(self, *events: h11.Event) -> None:
        # With this method, h11 does not copy the data.
        parts = [self._http.send_with_data_passthrough(event) for event in events]
        await self._connection.send(*(part for event in parts if event is not None for part in event))


def _cookies(header: str) -> dict[str, str]:
    """Return the cookies of a Cookie header.

    Browsers send the cookies of all servers of this computer, also those with names and values that RFC 6265 does not
    allow. ``http.cookies`` would stop at the first of these, and lose the server's own cookie.
    """
    pairs = (part.partition("=") for part in header.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}
