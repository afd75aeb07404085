"""Serve a package with the bench page to a browser, and receive its results."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from arenite.host.http_server.access import Access
from arenite.host.http_server.connection_server import Connection
from arenite.host.http_server.request_handler import (
    CONTENT_TYPES,
    TEXT,
    AuthenticatingServer,
    RequestHandler,
)

_HOST = "127.0.0.1"
#: The maximum size of the page's result in bytes: times and texts.
_MAX_RESULT_BYTES = 1_000_000
#: The maximum size of a report of the page's progress in bytes.
_MAX_PROGRESS_BYTES = 200
#: The steps of which the page reports the progress: it runs the samples, then it measures times.
RUN, TIME = "run", "time"
#: With these headers the page is isolated from other origins, and browsers give it timers of 5 to 20 microseconds:
#: https://www.w3.org/TR/hr-time-3/#clock-resolution
_ISOLATION = {"Cross-Origin-Embedder-Policy": "require-corp"}


class BenchServer(AuthenticatingServer):
    """Serves ``files`` (contents by path) on loopback. For each runtime of the page, ``output_bytes`` has the sizes
    that the outputs of all samples may have. ``report`` is called with lines of text for people."""

    def __init__(
        self,
        files: Mapping[str, bytes],
        output_bytes: Sequence[Collection[int]],
        report: Callable[[str], None],
    ) -> None:
        self.files = files
        self.output_bytes = output_bytes
        self.outputs: dict[int, bytes] = {}
        self.result: dict[str, Any] | None = None
        self.fetched: set[str] = set()  # paths of files that the page has loaded
        self.progress = (RUN, 0, 1)  # the page's latest report: step, finished units, and their total
        self.received = threading.Event()  # set when anything has arrived
        super().__init__(_HOST, 0, Access(_HOST, "auto", name="page"), 16, None, report)

    @property
    def url(self) -> str:
        """The address of the page, with the token."""
        return f"http://{_HOST}:{self.port}/{self.access.query}"

    def receive_outputs(self, text: str, body: bytes) -> bool:
        """Store the outputs of the runtime with the number ``text``. Return False if there is no such runtime, or if
        the outputs have another size."""
        known = text in map(str, range(len(self.output_bytes))) and len(body) in self.output_bytes[int(text)]
        if known:
            self.outputs[int(text)] = body
            self.received.set()
        return known

    def receive_progress(self, body: bytes) -> bool:
        """Store the page's progress, a JSON array of the step, the finished units and their total. Return False if it
        is none."""
        try:
            step, done, total = json.loads(body)
        except (ValueError, TypeError, RecursionError):
            return False
        known = step in (RUN, TIME) and isinstance(done, int) and isinstance(total, int)
        if known and 0 <= done <= total:
            self.progress = (step, done, total)
            self.received.set()
            return True
        return False

    def receive_result(self, body: bytes) -> bool:
        """Store the result, a JSON object. Return False if it is none."""
        try:
            result = json.loads(body)
        except (ValueError, RecursionError):
            return False
        if not isinstance(result, dict):
            return False
        self.result = result
        self.received.set()
        return True

    async def serve(self, connection: Connection) -> None:
        await _BenchHandler(self, connection).run()


class _BenchHandler(RequestHandler):
    def __init__(self, server: BenchServer, connection: Connection) -> None:
        super().__init__(server, connection)
        self._bench = server

    @property
    def policy(self) -> Mapping[str, str]:
        return _ISOLATION

    async def get(self, path: str, query: dict[str, list[str]]) -> None:
        name = "/index.html" if path == "/" else path
        content = self._bench.files.get(name)
        if content is None:
            await self.send("There is no such file.\n", TEXT, HTTPStatus.NOT_FOUND)
            return
        self._bench.fetched.add(name)
        await self.send(content, CONTENT_TYPES.get(name.rpartition(".")[2], "application/octet-stream"))

    def max_body_bytes(self, path: str) -> int:
        largest = max((size for sizes in self._bench.output_bytes for size in sizes), default=0)
        limits = {"/outputs": max(1, largest), "/result": _MAX_RESULT_BYTES, "/progress": _MAX_PROGRESS_BYTES}
        return limits.get(path, 0)

    async def post(self, path: str, query: dict[str, list[str]], body: bytes) -> None:
        if path == "/outputs":
            accepted = self._bench.receive_outputs(query.get("runtime", [""])[0], body)
        elif path == "/progress":
            accepted = self._bench.receive_progress(body)
        else:
            accepted = self._bench.receive_result(body)
        status = HTTPStatus.OK if accepted else HTTPStatus.UNPROCESSABLE_ENTITY
        await self.send("", TEXT, status)
