"""Tests of the limits of the dashboard's connections: their number, and the time in which a request must arrive."""

from __future__ import annotations

import contextlib
import http.client
import socket
import sys
import time
from urllib.parse import urlsplit

import pytest

from arenite.host.camera.dashboard.server import Dashboard
from arenite.host.http_server import connection_limits, connection_server
from tests.host.camera.dashboard.client import Events, get
from tests.host.camera.dashboard.simulated_run import state_at

TOKEN = "sand-and-pressure"

HALF_SENT = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
HEALTHZ = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
NO_TOKEN = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_the_number_of_clients_is_limited() -> None:
    server = Dashboard(max_clients=2)
    server.start()
    first_client, second_client = Events(server), Events(server)
    assert get(server, "/healthz")[0] == 503 and get(server, "/")[0] == 503
    assert get(server, "/")[1]["Retry-After"] == "5"
    first_client.connection.close()
    first_client.answer.close()
    # The server notices the closed connection at its next write.
    end = time.monotonic() + 60
    status = 503
    while status == 503 and time.monotonic() < end:
        server.update(state_at(1))
        status = get(server, "/")[0]
    assert status == 200 and second_client.next()[0] == "hello"
    server.close()


def _connect(port: int, request: bytes = b"", source: str = "127.0.0.1") -> socket.socket:
    """Return a connection from the address ``source`` on which ``request`` was sent."""
    connection = socket.create_connection(("127.0.0.1", port), 30, source_address=(source, 0))
    connection.sendall(request)
    return connection


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8")
@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("request_bytes", [b"", b"G", HALF_SENT, HEALTHZ, NO_TOKEN])
def test_clients_without_a_token_do_not_lock_the_owner_out(request_bytes: bytes, spread: bool) -> None:
    """The owner is a client that sent the token. With ``spread``, each other client has an address of its own."""
    server = Dashboard("0.0.0.0", token=TOKEN, max_clients=6)
    server.start()
    port = urlsplit(server.url).port or 0
    authorization = f"Bearer {TOKEN}"
    with contextlib.closing(server), contextlib.ExitStack() as stack:
        owner = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        stack.callback(owner.close)
        owner.request("GET", "/events", headers={"Authorization": authorization})
        events = owner.getresponse()
        assert events.status == 200 and events.readline() == b"event: hello\n"
        for k in range(40):
            source = f"127.0.1.{k + 1}" if spread else "127.0.0.1"
            stack.enter_context(_connect(port, request_bytes, source))
            if k % 10 == 9:
                assert get(server, "/state", Authorization=authorization)[0] == 200
        # The owner's earlier connection was kept.
        server.update(state_at(1))
        while events.readline() != b"event: news\n":
            pass


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8")
def test_new_connections_of_one_address_do_not_close_those_of_another() -> None:
    server = Dashboard("0.0.0.0", token=TOKEN, max_clients=12)
    server.start()
    port = urlsplit(server.url).port or 0
    with contextlib.closing(server), contextlib.ExitStack() as stack:
        other_client = stack.enter_context(_connect(port, HALF_SENT, "127.0.2.1"))
        crowd = [stack.enter_context(_connect(port, HALF_SENT)) for _ in range(30)]
        assert crowd[0].recv(1) == b"", "the oldest connection of the crowd was not closed"
        other_client.sendall(f"Authorization: Bearer {TOKEN}\r\n\r\n".encode())
        assert other_client.recv(100).startswith(b"HTTP/1.1 200 ")


def test_addresses_of_one_ipv6_network_count_together() -> None:
    network = connection_limits.network_of
    assert network("2001:db8::1") == network("2001:db8::ffff:2") == "2001:db8::/64"
    assert network("2001:db8:0:1::1") != network("2001:db8::1")
    assert network("::ffff:192.0.2.1") == network("192.0.2.1") == "192.0.2.1"
    assert network("fe80::1%eth0") == "fe80::/64"


def test_a_slow_request_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that sends its request byte by byte is disconnected, so that it does not block other clients."""
    monkeypatch.setattr(connection_server, "REQUEST_TIMEOUT_S", 0.3)
    server = Dashboard(max_clients=1)
    server.start()
    port = urlsplit(server.url).port or 0
    with contextlib.closing(server), socket.create_connection(("127.0.0.1", port), 30) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        raw.settimeout(0.05)
        for _ in range(200):
            with contextlib.suppress(TimeoutError, ConnectionError):
                raw.sendall(b"X: y\r\n")
                if raw.recv(1) == b"":
                    break
        else:
            pytest.fail("the server did not close the connection")
        end = time.monotonic() + 60
        events = Events(server)
        while events.answer.status == 503 and time.monotonic() < end:
            events = Events(server)
        # After a complete request, the connection may stay open without limit.
        assert events.next()[0] == "hello"
        time.sleep(0.6)  # twice REQUEST_TIMEOUT_S
        server.update(state_at(1))
        assert events.next()[0] == "news"
