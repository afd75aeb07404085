"""A TCP server with one thread per connection. It limits the number of connections and the time in which a request must
arrive."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import time
from typing import Any

#: A complete request must arrive within this time. The same holds for the next request of a connection.
REQUEST_TIMEOUT_S = 20.0


class BoundedTcpServer(socketserver.ThreadingTCPServer):
    """Serves at most ``max_clients`` connections at a time; further connections are answered with status 503."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 32

    def __init__(
        self, host: str, port: int, handler: type[socketserver.BaseRequestHandler], max_clients: int
    ) -> None:
        self._max_clients = max_clients
        self._open: set[socket.socket] = set()
        #: Connections whose request has not arrived yet, and the time by which it must arrive.
        self._deadlines: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), handler)
        self.server_port: int = self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            full = len(self._open) >= self._max_clients
            if not full:
                self._open.add(request)
        if full:
            request.settimeout(0.1)
            with contextlib.suppress(OSError):
                request.sendall(
                    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"
                )
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
            self._deadlines.pop(request, None)
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
        """Close connections whose request is overdue: a client could otherwise hold all connections by sending byte by
        byte. The serving loop calls this several times a second."""
        now = time.monotonic()
        with self._lock:
            overdue = [connection for connection, end in self._deadlines.items() if end < now]
        for connection in overdue:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that closed the connection or were too slow."""

    def close_all(self) -> None:
        self.server_close()
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
