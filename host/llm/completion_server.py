"""Serve a language model on this computer with the requests of OpenAI's API.

llama.cpp's own server understands the requests and writes the answers. This server stands before it: it admits
requests, refuses those that would wait too long, and tells llama.cpp to stop when a client leaves.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

from arenite.counts import count_of
from arenite.host.http_server.access import Access
from arenite.host.http_server.addresses import listening_error, url_of
from arenite.host.http_server.connection_limits import ConnectionLimits
from arenite.host.http_server.connection_server import Connection
from arenite.host.http_server.request_handler import CONTENT_TYPES, AuthenticatingServer, RequestHandler
from arenite.host.llm.admission import Admission, QueueFullError

HOST = "127.0.0.1"
#: Requests that decode tokens, and those that only read.
_COMPLETIONS = frozenset({"/v1/chat/completions", "/v1/completions"})
_READS = frozenset({"/health", "/v1/health", "/v1/models"})
#: The maximum size of a request's body. llama.cpp refuses prompts that are longer than the context.
_MAX_BODY_BYTES = 1 << 22
#: Connections besides those whose requests run or wait.
_MORE_CLIENTS = 16
_CHUNK_BYTES = 1 << 16
#: After this number of seconds, a client that was refused should try again.
_RETRY_S = 1


def require_free_port(port: int) -> None:
    """Raise ``UsageError`` if ``CompletionServer`` cannot listen at ``port``."""
    try:
        socket.create_server((HOST, port)).close()
    except (OSError, OverflowError) as error:
        raise listening_error("language model", HOST, port, error) from error


class CompletionServer(AuthenticatingServer):
    """Serves the model of llama.cpp's server at ``upstream_port`` on 127.0.0.1, which takes requests with ``key``.
    ``slots`` requests run at a time, and ``queue`` wait. Call ``start``, and ``close`` at the end.

    Raises ``UsageError`` if the server cannot listen at ``port``; 0 is a free port.
    """

    def __init__(
        self, upstream_port: int, key: str, port: int, slots: int, queue: int, report: Callable[[str], None]
    ) -> None:
        self.admission = Admission(slots, queue)
        self._upstream_port, self._key = upstream_port, key
        access = Access(HOST, None, name="language model")
        # Refusals need connections too.
        clients = 2 * (slots + queue) + _MORE_CLIENTS
        try:
            super().__init__(HOST, port, access, clients, None, report)
        except (OSError, OverflowError) as error:
            raise listening_error("language model", HOST, port, error) from error
        # All clients have the address of this computer, so none is kept out by the number of the others.
        self.limits = ConnectionLimits(clients, clients)

    @property
    def url(self) -> str:
        """The base address that clients of OpenAI's API need."""
        return f"{url_of(HOST, self.port, is_encrypted=False)}v1"

    async def serve(self, connection: Connection) -> None:
        await _Handler(self, connection).run()

    async def relay(self, connection: Connection, method: str, path: str, body: bytes) -> None:
        """Send a request to llama.cpp, and its answer to the client of ``connection``. If this is cancelled, the
        connection to llama.cpp ends, and llama.cpp stops."""
        reader, writer = await asyncio.open_connection(HOST, self._upstream_port)
        try:
            head = (
                f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {self._key}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await writer.drain()
            while chunk := await reader.read(_CHUNK_BYTES):
                await connection.send(chunk)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


class _Handler(RequestHandler):
    """Handles the requests of one connection. An answer of llama.cpp ends the connection."""

    def __init__(self, server: CompletionServer, connection: Connection) -> None:
        super().__init__(server, connection)
        self._completions = server
        self._client = connection

    def max_body_bytes(self, path: str) -> int:
        return _MAX_BODY_BYTES if path in _COMPLETIONS else 0

    async def get(self, path: str, query: dict[str, list[str]]) -> None:
        if path not in _READS:
            paths = ", ".join(sorted({*_COMPLETIONS, *_READS}))
            await self._send_error(HTTPStatus.NOT_FOUND, f"There is no {path}. This server has {paths}.")
            return
        self.closes = True
        await self._until_closed(self._completions.relay(self._client, "GET", path, b""))

    async def post(self, path: str, query: dict[str, list[str]], body: bytes) -> None:
        await self._until_closed(self._complete(path, body))

    async def _complete(self, path: str, body: bytes) -> None:
        admission = self._completions.admission
        self.closes = True
        try:
            async with admission.admitted():
                await self._completions.relay(self._client, "POST", path, body)
        except QueueFullError:
            await self._send_error(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"The model is busy: {count_of(admission.slots, 'slot')} and "
                f"{count_of(admission.queue, 'place')} in the queue, all taken. Try again later.",
            )

    async def _until_closed(self, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` until its end, or cancel it when the client leaves."""
        tasks = asyncio.ensure_future(work), asyncio.ensure_future(self._client.wait_until_closed())
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        if isinstance(results[0], Exception):
            raise results[0]

    async def _send_error(self, status: HTTPStatus, text: str) -> None:
        kind = "rate_limit_error" if status == HTTPStatus.TOO_MANY_REQUESTS else "invalid_request_error"
        content = {"error": {"message": text, "type": kind, "code": status.value}}
        retry = [("Retry-After", str(_RETRY_S))] if status == HTTPStatus.TOO_MANY_REQUESTS else []
        await self.send(json.dumps(content), CONTENT_TYPES["json"], status, retry)
