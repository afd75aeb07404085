"""A TCP server with one thread per connection.

It limits the number of connections, and the time in which a request must arrive.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import socketserver
import threading
import time
from typing import Any

#: Every request must arrive completely within this number of seconds, also the next request of an open connection.
REQUEST_TIMEOUT_S = 20.0
#: The maximum number of strangers (see ``BoundedTcpServer``) from one address. A browser opens six connections.
MAX_STRANGERS_PER_ADDRESS = 8


class BoundedTcpServer(socketserver.ThreadingTCPServer):
    """Serves at most ``max_clients`` connections at a time; further connections are answered with status 503.

    A connection is a stranger until its client has shown that it may use the server, and the handler calls ``admit``.
    Strangers cannot keep admitted clients out: if the server is full when a new connection arrives, or if one
    address has too many strangers, the oldest of these strangers is closed.
    """

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 32

    def __init__(
        self, host: str, port: int, handler: type[socketserver.BaseRequestHandler], max_clients: int
    ) -> None:
        self._max_clients = max_clients
        #: The connections that were admitted, and the strangers with their networks (see ``_network``), the oldest
        #: first.
        self._admitted: set[socket.socket] = set()
        self._strangers: dict[socket.socket, str] = {}
        #: The connections whose request has not arrived yet, with the time by which it must arrive.
        self._deadlines: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), handler)
        self.server_port: int = self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        network = _network(client_address[0])
        with self._lock:
            evicted = self._stranger_to_evict(network)
            if evicted is not None:
                self._forget(evicted)
                # The thread of the evicted connection then wakes up and closes it.
                with contextlib.suppress(OSError):
                    evicted.shutdown(socket.SHUT_RDWR)
            full = len(self._admitted) + len(self._strangers) >= self._max_clients
            if not full:
                self._strangers[request] = network
        if full:
            request.settimeout(0.1)
            with contextlib.suppress(OSError):
                request.sendall(
                    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"
                )
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def _stranger_to_evict(self, network: str) -> socket.socket | None:
        """Return the stranger that must be closed before a connection from ``network`` is accepted; None if there is
        none."""
        neighbours = [connection for connection, other in self._strangers.items() if other == network]
        if len(neighbours) >= MAX_STRANGERS_PER_ADDRESS:
            return neighbours[0]
        if len(self._admitted) + len(self._strangers) >= self._max_clients:
            return next(iter(self._strangers), None)
        return None

    def _forget(self, connection: socket.socket) -> None:
        self._admitted.discard(connection)
        self._strangers.pop(connection, None)
        self._deadlines.pop(connection, None)

    def admit(self, connection: socket.socket) -> None:
        """Keep ``connection`` until it ends, because its client has shown that it may use the server."""
        with self._lock:
            if self._strangers.pop(connection, None) is not None:
                self._admitted.add(connection)

    def is_admitted(self, connection: socket.socket) -> bool:
        """Whether ``admit`` was called for ``connection``."""
        with self._lock:
            return connection in self._admitted

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._forget(request)
        super().shutdown_request(request)

    def expect_request(self, connection: socket.socket) -> None:
        """Start the time limit for the next request of ``connection``."""
        with self._lock:
            self._deadlines[connection] = time.monotonic() + REQUEST_TIMEOUT_S

    def request_received(self, connection: socket.socket) -> None:
        """End the time limit: the request has arrived, and its answer may take any time."""
        with self._lock:
            self._deadlines.pop(connection, None)

    def service_actions(self) -> None:
        """Close connections whose request is overdue. Otherwise a client could occupy all connections by sending its
        requests byte by byte. ``serve_forever`` calls this several times a second."""
        now = time.monotonic()
        with self._lock:
            overdue = [connection for connection, end in self._deadlines.items() if end < now]
        for connection in overdue:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: clients may close the connection or be too slow."""

    def close_all(self) -> None:
        self.server_close()
        with self._lock:
            connections = [*self._admitted, *self._strangers]
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _network(address: str) -> str:
    """Return ``address``, or for IPv6 its network with a 64-bit prefix, because one computer may have all addresses of
    such a network."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))
