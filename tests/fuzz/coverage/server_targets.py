"""Fuzz targets of HTTP requests. A server must answer each request, or close the connection without an exception, and
must give nothing to a client without the token."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

if TYPE_CHECKING:
    from arenite.host.http_server.request_handler import AuthenticatingServer

Target = Callable[[bytes], None]


@contextlib.contextmanager
def _changed(module: ModuleType, **values: float) -> Iterator[None]:
    """Give variables of a module other values until the block ends."""
    before = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


class _Answers(asyncio.Transport):
    """A connection to a client that takes everything."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.data += data

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        pass


_TOKEN = "sand-and-pressure"


def http_requests() -> Target:
    """Requests to the dashboard."""
    from arenite.host.camera.dashboard import handler
    from arenite.host.camera.dashboard.handler import DashboardServer
    from arenite.host.camera.dashboard.server import Dashboard

    content = Dashboard("127.0.0.1", token=_TOKEN, report=lambda _: None)
    content.ended = True  # an event stream ends at once
    answer_to = _answers_of(DashboardServer("127.0.0.1", 0, content, 4, None, lambda _: None))

    def run(data: bytes) -> None:
        # The wait would be most of the fuzzer's time. This dashboard is not ready, so even /healthz has another status
        # than 200.
        with _changed(handler, _FRAME_WAIT_S=0.0):
            answer_to(data)

    return run


def page_requests() -> Target:
    """Requests to the server of a page that collects samples of 16 bytes, of the classes "cat" and "dog"."""
    from arenite.host.web.serving import sample_collection
    from arenite.host.web.serving.page_server import PageServer
    from arenite.host.web.serving.sample_collection import SampleCollection, SampleFormat
    from tests.host.web.serving.page_folder import write_page

    kept = TemporaryDirectory()
    folder = Path(kept.name)
    collection = SampleCollection(folder / "data", SampleFormat(width=2, height=2), ("cat", "dog"))
    page = write_page(folder / "page")
    answer_to = _answers_of(
        PageServer(page, "127.0.0.1", 0, _TOKEN, tls=None, collection=collection, report=lambda _: None)
    )

    def run(data: bytes) -> None:
        assert kept.name  # this reference keeps the folder
        with _changed(sample_collection, MAX_FOLDER_BYTES=100_000):
            answer_to(data)
        folders = {path.name for path in (folder / "data").iterdir()}
        assert folders <= {"cat", "dog", "labels.txt", "collected.jsonl"}, folders

    return run


def _answers_of(server: AuthenticatingServer) -> Target:
    """Return a function that gives the bytes of a client to the server, and checks the answer."""
    from arenite.host.http_server import request_handler
    from arenite.host.http_server.connection_server import MAX_REQUEST_BYTES, Connection
    from arenite.host.http_server.login_attempts import LoginAttempts

    server.port = 80  # is part of the cookie's name, so an input must know it
    session = server.access.check({"Host": "localhost"}.get, _TOKEN, None).cookie
    loop = asyncio.new_event_loop()

    async def serve(data: bytes) -> bytes:
        reader = asyncio.StreamReader(MAX_REQUEST_BYTES)
        reader.feed_data(data)
        reader.feed_eof()
        answers = _Answers()
        writer = asyncio.StreamWriter(answers, asyncio.StreamReaderProtocol(reader), reader, loop)
        server.attempts = LoginAttempts(lambda _: None)  # wrong tokens of other inputs must not count
        with socket.socket() as raw:
            server.limits.add(raw, "127.0.0.1")
            try:
                await server.serve(Connection(server, raw, "127.0.0.1", reader, writer))
            finally:
                server.limits.remove(raw)
        return answers.data

    def run(data: bytes) -> None:
        with _changed(request_handler, _WRONG_TOKEN_DELAY_S=0.0):  # most of the fuzzer's time
            answer = loop.run_until_complete(serve(data[:60_000]))
        assert not answer or answer.startswith(b"HTTP/1.1 "), answer
        assert b"HTTP/1.1 500" not in answer, answer
        if b"HTTP/1.1 20" in answer.replace(b"HTTP/1.1 204", b""):  # /favicon.ico is for everyone
            text = unquote_plus(data.decode("latin-1"))
            assert _TOKEN in text or session in text, answer

    return run


#: The fuzz targets of servers by name. Each function imports the code and returns the function of one input.
SERVER_TARGETS: dict[str, Callable[[], Target]] = {
    "http_requests": http_requests,
    "page_requests": page_requests,
}
