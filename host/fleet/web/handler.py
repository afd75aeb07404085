"""The HTTP interface of a fleet's page: the content of each path."""

from __future__ import annotations

import json
import ssl
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http import HTTPStatus
from importlib.resources import files
from typing import Any, Protocol, TypeVar

from arenite.errors import AreniteError
from arenite.host.fleet.database import Transaction
from arenite.host.fleet.web.metrics import CONTENT_TYPE, metrics_text
from arenite.host.fleet.web.overview import find_devices, overview
from arenite.host.http_server.access import Access
from arenite.host.http_server.connection_server import Connection
from arenite.host.http_server.request_handler import (
    CONTENT_TYPES,
    TEXT,
    AuthenticatingServer,
    RequestHandler,
)

_T = TypeVar("_T")

_FILES = {"/": "page.html", **{f"/{name}": name for name in ("page.css", "page.js", "tables.js", "icon.svg")}}
_POLICY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_MAX_OFFSET = 10**9


class Reader(Protocol):
    """Reads the database: calls a function with a transaction and the time, in the thread of the database. Raises what
    the function raises, and ``DatabaseError``."""

    def __call__(self, work: Callable[[Transaction, int], _T]) -> Awaitable[_T]: ...


class FleetPageServer(AuthenticatingServer):
    """Serves what ``read`` finds in the database, as ``AuthenticatingServer`` describes."""

    def __init__(
        self,
        host: str,
        port: int,
        access: Access,
        read: Reader,
        max_clients: int,
        tls: ssl.SSLContext | None,
        report: Callable[[str], None],
    ) -> None:
        self.read = read
        super().__init__(host, port, access, max_clients, tls, report)

    async def serve(self, connection: Connection) -> None:
        await _Handler(self, connection).run()


class _Handler(RequestHandler):
    """Handles the requests of one connection."""

    public_paths = frozenset({"/favicon.ico", "/healthz"})

    def __init__(self, server: FleetPageServer, connection: Connection) -> None:
        super().__init__(server, connection)
        self._read = server.read

    @property
    def policy(self) -> Mapping[str, str]:
        return _POLICY

    async def get(self, path: str, query: dict[str, list[str]]) -> None:
        if path in _FILES:
            name = _FILES[path]
            text = files("arenite.host.fleet.web").joinpath(name).read_bytes()
            await self.send(text, CONTENT_TYPES[name.rsplit(".", 1)[1]])
            return
        work: Callable[[Transaction, int], Any]
        kind = CONTENT_TYPES["json"]
        if path == "/metrics":
            work, kind = metrics_text, CONTENT_TYPE
        elif path == "/overview":
            work = overview
        elif path == "/devices":
            work = partial(find_devices, search=query.get("search", [""])[0], offset=_offset(query))
        elif path == "/healthz":
            work, kind = _health, TEXT
        else:
            await self.send("There is no such page.\n", TEXT, HTTPStatus.NOT_FOUND)
            return
        try:
            result = await self._read(work)
        except AreniteError as error:
            await self.send(f"{error.problem}\n", TEXT, HTTPStatus.SERVICE_UNAVAILABLE)
            return
        await self.send(
            result if isinstance(result, bytes) else json.dumps(result, separators=(",", ":")), kind
        )


def _health(transaction: Transaction, _: int) -> bytes:
    transaction.query("SELECT name FROM fleet")
    return b"ok\n"


def _offset(query: dict[str, list[str]]) -> int:
    text = query.get("offset", ["0"])[0]
    return min(int(text), _MAX_OFFSET) if text.isascii() and text.isdigit() and len(text) < 12 else 0
