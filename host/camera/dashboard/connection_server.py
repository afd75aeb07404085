"""A thread per connection, with bounds: on connections, and on the time that a request takes to come."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arenite.host.camera.dashboard.server import Dashboard

#: For a whole request to come, also the next one of a connection.
REQUEST_TIMEOUT_S = 20.0


class BoundedTcpServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 32

    def __init__(
        self, host: str, port: int, handler: type[socketserver.BaseRequestHandler], dashboard: Dashboard
    ) -> None:
        self.dashboard = dashboard
        self._open: set[socket.socket] = set()
        #: Whose request has not come yet, and until when it has to.
        self._late: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), handler)
        self.server_port: int = self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            full = len(self._open) >= self.dashboard.max_clients
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
            self._late.pop(request, None)
        super().shutdown_request(request)

    def expect_request(self, connection: socket.socket) -> None:
        """A request, from now on."""
        with self._lock:
            self._late[connection] = time.monotonic() + REQUEST_TIMEOUT_S

    def has(self, connection: socket.socket) -> None:
        """The request that was awaited; it may be answered as slowly as it likes."""
        with self._lock:
            self._late.pop(connection, None)

    def service_actions(self) -> None:
        """Some times a second: hang up on who sends a request byte by byte, to have all connections for itself."""
        now = time.monotonic()
        with self._lock:
            late = [connection for connection, end in self._late.items() if end < now]
        for connection in late:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away, or one too slow: nobody's problem."""

    def close_all(self) -> None:
        self.server_close()
        with self._lock:
            left = list(self._open)
        for connection in left:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
