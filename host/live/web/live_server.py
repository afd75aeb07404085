"""Serve the page of a live view: its files, its contents as server-sent events, and the newest picture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

import h11

from arenite.host.http_server.access import Access
from arenite.host.http_server.addresses import listening_error, parse_address, url_of
from arenite.host.http_server.connection_server import Connection
from arenite.host.http_server.request_handler import (
    CONTENT_TYPES,
    PAGE_POLICY,
    TEXT,
    AuthenticatingServer,
    RequestHandler,
)
from arenite.host.live.live_view import LiveView
from arenite.host.live.pictures import png_of
from arenite.host.report.console import note

_FILES = {"/": "page.html", "/page.css": "page.css", "/page.js": "page.js", "/drawing.js": "drawing.js"}
_MAX_CLIENTS = 16
#: Seconds between two updates of a page, and without news after which a ping is sent.
_UPDATE_S, _PING_S = 0.1, 15.0


class LiveServer(AuthenticatingServer):
    """Serves ``view`` at ``address`` (HOST:PORT). Other computers need ``token``; ``auto`` generates one. Call
    ``start``, and ``end`` at the end.

    Raises ``UsageError`` if the server cannot listen there, or needs a token.
    """

    def __init__(self, view: LiveView, address: str, token: str | None) -> None:
        host, port = parse_address(address)
        access = Access(host, token, name="live view")
        self.view = view
        self.has_ended = False
        self._host = host
        try:
            super().__init__(host, port, access, _MAX_CLIENTS, None, note)
        except (OSError, OverflowError) as error:
            raise listening_error("live view", host, port, error) from error

    @property
    def url(self) -> str:
        """The address to open in a browser, with the token if there is one."""
        return url_of(self._host, self.port, is_encrypted=False) + self.access.query

    def end(self) -> None:
        """End all connections."""
        self.has_ended = True
        self.close()

    async def serve(self, connection: Connection) -> None:
        await _Handler(self, connection).run()


class _Handler(RequestHandler):
    """Handles the requests of one connection."""

    public_paths = frozenset({"/favicon.ico"})

    def __init__(self, server: LiveServer, connection: Connection) -> None:
        super().__init__(server, connection)
        self._live = server

    @property
    def policy(self) -> Mapping[str, str]:
        return PAGE_POLICY

    async def get(self, path: str, query: dict[str, list[str]]) -> None:
        view = self._live.view
        if path in _FILES:
            await self.send_file("arenite.host.live.web", _FILES[path])
        elif path == "/state":
            await self.send(json.dumps(view.snapshot()), CONTENT_TYPES["json"])
        elif path == "/events":
            await self._events()
        elif path == "/picture" and view.picture is not None:
            await self.send(png_of(view.picture.pixels), "image/png")
        else:
            await self.send("There is no such page.\n", TEXT, HTTPStatus.NOT_FOUND)

    async def _events(self) -> None:
        """Send server-sent events, each with the contents of the view and the new columns."""
        self.closes = True
        await self.write(self.head(HTTPStatus.OK, "text/event-stream", []))
        if not self.is_head:
            version, column = -1, 0
            while not self._live.has_ended:
                if version != self._live.view.version:
                    version = self._live.view.version
                    snapshot = self._live.view.snapshot(column)
                    column = snapshot["next_column"]
                    await self.write(h11.Data(f"data: {json.dumps(snapshot)}\n\n".encode()))
                await self._live.wait_for(self._ended, _UPDATE_S)
        await self.write(h11.EndOfMessage())

    def _ended(self) -> bool | None:
        return True if self._live.has_ended else None
