"""Tests of the server before llama.cpp's, with a server in its place that answers when the test permits it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("h11", reason="parses requests")

from arenite.host.llm.completion_server import CompletionServer

LIMIT_S = 30.0


class Upstream(ThreadingHTTPServer):
    """A server that holds the answers to POST requests until ``go`` is set, and notices when its client leaves."""

    daemon_threads = True

    def __init__(self) -> None:
        self.go, self.arrived, self.left = threading.Event(), threading.Semaphore(0), threading.Semaphore(0)
        self.keys = list[str | None]()
        super().__init__(("127.0.0.1", 0), Answer)


class Answer(BaseHTTPRequestHandler):
    server: Upstream

    def do_GET(self) -> None:
        self._answer(b"{}")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.keys.append(self.headers["Authorization"])
        self.server.arrived.release()
        self.connection.settimeout(0.05)
        while not self.server.go.is_set():
            try:
                if not self.connection.recv(1):
                    self.server.left.release()
                    return
            except TimeoutError:
                pass
        self._answer(body)

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.go.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def server(upstream: Upstream) -> Iterator[CompletionServer]:
    """A server with one slot and room for one request that waits."""
    server = CompletionServer(upstream.server_address[1], "key", 0, 1, 1, pytest.fail)
    server.start()
    yield server
    server.close()


def ask(server: CompletionServer, body: bytes = b"{}", path: str = "/v1/chat/completions") -> HTTPConnection:
    client = HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)
    client.request("POST", path, body)
    return client


def refusal(response: HTTPResponse) -> str:
    error = json.loads(response.read())["error"]
    assert error["code"] == response.status
    return str(error["message"])


def until_waiting(server: CompletionServer, count: int) -> None:
    """Return when ``count`` requests wait."""
    end = time.monotonic() + LIMIT_S
    while server.admission.waiting != count:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_answers_are_relayed_with_the_key(server: CompletionServer, upstream: Upstream) -> None:
    upstream.go.set()
    response = ask(server, b'{"a": 1}').getresponse()
    assert (response.status, response.read()) == (200, b'{"a": 1}')
    assert upstream.keys == ["Bearer key"]
    client = HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)
    client.request("GET", "/v1/models")
    assert client.getresponse().read() == b"{}"
    assert server.url == f"http://127.0.0.1:{server.port}/v1"


def test_a_full_queue_refuses_in_words(server: CompletionServer, upstream: Upstream) -> None:
    first = ask(server, b"1")
    assert upstream.arrived.acquire(timeout=LIMIT_S)
    others = [ask(server, b"2"), ask(server, b"3")]  # one waits, and the other is refused
    refused = None
    while refused is None:
        for client in others:
            assert client.sock is not None
            client.sock.settimeout(0.05)
            try:
                if client.sock.recv(1, socket.MSG_PEEK):
                    refused = client
            except TimeoutError:
                pass
    response = refused.getresponse()
    assert response.status == 429 and response.headers["Retry-After"] == "1"
    assert (
        refusal(response) == "The model is busy: 1 slot and 1 place in the queue, all taken. Try again later."
    )
    upstream.go.set()
    waiting = next(client for client in others if client is not refused)
    assert waiting.sock is not None
    waiting.sock.settimeout(LIMIT_S)
    assert first.getresponse().read() == b"1"
    assert waiting.getresponse().status == 200


def test_a_client_that_leaves_frees_its_slot(server: CompletionServer, upstream: Upstream) -> None:
    for _ in range(3):
        client = ask(server)
        assert upstream.arrived.acquire(timeout=LIMIT_S)
        client.close()
        assert upstream.left.acquire(timeout=LIMIT_S)  # the server closes its connection to llama.cpp
    upstream.go.set()
    assert ask(server).getresponse().status == 200


def test_a_client_that_leaves_the_queue_is_not_served(server: CompletionServer, upstream: Upstream) -> None:
    running = ask(server, b"running")
    assert upstream.arrived.acquire(timeout=LIMIT_S)
    for _ in range(3):  # more than may wait: each must free its place
        client = ask(server, b"gone")
        until_waiting(server, 1)
        client.close()
        until_waiting(server, 0)
    upstream.go.set()
    assert running.getresponse().read() == b"running"
    assert ask(server, b"last").getresponse().read() == b"last"
    assert len(upstream.keys) == 2


def test_other_paths_and_large_bodies_are_refused(server: CompletionServer) -> None:
    client = HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)
    client.request("GET", "/v1/nothing")
    response = client.getresponse()
    assert response.status == 404 and "/v1/chat/completions" in refusal(response)
    client = HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)
    client.putrequest("POST", "/v1/completions")
    client.putheader("Content-Length", str(1 << 30))
    client.endheaders()
    response = client.getresponse()
    assert response.status == 413 and b"longer than" in response.read()
