"""Serve the files of a generated page, and take the samples that its users send."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable, Mapping
from html import unescape
from http import HTTPStatus
from pathlib import Path
from re import search
from typing import ClassVar

from arenite.errors import UsageError
from arenite.host.http_server.access import Access, is_loopback
from arenite.host.http_server.addresses import listening_error, url_of
from arenite.host.http_server.connection_server import Connection
from arenite.host.http_server.request_handler import (
    CONTENT_TYPES,
    TEXT,
    AuthenticatingServer,
    RequestHandler,
)
from arenite.host.web.serving.local_authority import AUTHORITY_PATH
from arenite.host.web.serving.sample_collection import CollectionError, SampleCollection
from arenite.host.web.serving.served_repository import ServedRepository

#: Where the page sends samples.
COLLECT_PATH = "/collect"
_MAX_CLIENTS = 64


class PageServer(AuthenticatingServer):
    """Serves the files of ``folder`` at ``host`` and ``port``, to clients that show the token.

    Args:
        folder: a folder that ``write_package`` wrote, with a page.
        host, port: the address to bind. With port 0, the system chooses a free port.
        token: the token; with "auto", a token is generated.
        tls: the context of encrypted connections; None: connections are not encrypted.
        authority_pem: the certificate of the authority that certified the server, as PEM text; "": none.
        collection: stores the samples that the page sends; None: the page sends none.
        repository: the repository from which the page takes newer models; None: it is elsewhere, or there is none.
        report: called with lines of text for people.

    Raises ``UsageError`` if the address cannot be used, the token is too short, or the folder has no page.
    """

    def __init__(
        self,
        folder: Path,
        host: str,
        port: int,
        token: str,
        *,
        tls: ssl.SSLContext | None,
        authority_pem: str = "",
        collection: SampleCollection | None = None,
        repository: ServedRepository | None = None,
        report: Callable[[str], None],
    ) -> None:
        self.collection, self.repository = collection, repository
        self.authority_pem = authority_pem
        self.files = {f"/{path.name}": path.read_bytes() for path in folder.iterdir() if path.is_file()}
        if "/index.html" not in self.files:
            raise UsageError(f"{folder} has no page.", "Write one with --page.")
        self.files["/"] = self.files["/index.html"]
        self.policy = {
            "Content-Security-Policy": f"{content_policy(self.files['/'])}; frame-ancestors 'none'",
            "Permissions-Policy": "camera=(self), microphone=(self), geolocation=()",
        }
        self._host = host
        access = Access(host, token, name="page")
        try:
            super().__init__(host, port, access, _MAX_CLIENTS, tls, report)
        except (OSError, OverflowError) as error:
            raise listening_error(access.name, host, port, error) from error

    @property
    def url(self) -> str:
        """The address to open in a browser, with the token."""
        return self.public_url + self.access.query

    @property
    def public_url(self) -> str:
        """The address without the token."""
        return url_of(self._host, self.port, is_encrypted=self.is_encrypted)

    @property
    def is_local(self) -> bool:
        """Whether only this computer can reach the server."""
        return is_loopback(self._host)

    async def serve(self, connection: Connection) -> None:
        await _PageHandler(self, connection).run()


class _PageHandler(RequestHandler):
    """Handles the requests of one connection: the files of the page, and samples."""

    public_paths: ClassVar[frozenset[str]] = frozenset({"/favicon.ico", AUTHORITY_PATH})

    def __init__(self, server: PageServer, connection: Connection) -> None:
        super().__init__(server, connection)
        self._server = server

    @property
    def policy(self) -> Mapping[str, str]:
        return self._server.policy

    async def get(self, path: str, query: dict[str, list[str]]) -> None:
        files, repository = self._server.files, self._server.repository
        suffix = path.rpartition(".")[2] if path != "/" else "html"
        kind = CONTENT_TYPES.get(suffix, "application/octet-stream")
        if path in files:
            await self.send(files[path], kind)
        elif repository is not None and (file := repository.find(path)) is not None:
            await self.send(await asyncio.to_thread(file.read_bytes), kind)
        elif path == AUTHORITY_PATH and self._server.authority_pem:
            await self.send(self._server.authority_pem, "application/x-x509-ca-cert")
        else:
            await self.send("There is no such page.\n", TEXT, HTTPStatus.NOT_FOUND)

    def max_body_bytes(self, path: str) -> int:
        collection = self._server.collection
        return collection.format.nbytes if collection is not None and path == COLLECT_PATH else 0

    async def post(self, path: str, query: dict[str, list[str]], body: bytes) -> None:
        collection = self._server.collection
        assert collection is not None
        label, answer = (query.get(name, [""])[0] for name in ("label", "answer"))
        try:
            name = await asyncio.to_thread(collection.add, body, label, answer)
        except CollectionError as error:
            await self.send(f"{error}\n", TEXT, HTTPStatus.UNPROCESSABLE_ENTITY)
            return
        await self.send(json.dumps({"file": name}), CONTENT_TYPES["json"], HTTPStatus.CREATED)


def content_policy(page: bytes) -> str:
    """Return the content security policy that the page states, so that its header and its text agree."""
    matched = search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page.decode())
    assert matched is not None
    return unescape(matched[1])
