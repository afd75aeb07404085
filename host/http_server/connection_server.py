"""A server that passes each connection to a coroutine, with or without TLS.

It limits the number of connections (``connection_limits.py``), and the time in which a request must arrive.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from arenite.host.http_server.connection_limits import ConnectionLimits, network_of

_T = TypeVar("_T")

#: Every request must arrive completely within this number of seconds, also the next request of an open connection. With
#: TLS, this is also the limit of the handshake.
REQUEST_TIMEOUT_S = 20.0
#: A client must take each chunk that the server sends within this number of seconds. A phone at the edge of a network
#: needs longer than that for a model of several megabytes.
_SEND_TIMEOUT_S = 20.0
_CHUNK_BYTES = 1 << 18
#: The maximum size of a request in bytes, without its body. Browsers send less than 2 KB.
MAX_REQUEST_BYTES = 16384
_END_OF_REQUEST = b"\r\n\r\n"
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"
#: When a connection is closed, the data that was not sent yet has this number of seconds.
_CLOSE_S = 1.0


class RequestTooLargeError(Exception):
    """A request without its body is longer than ``MAX_REQUEST_BYTES``."""


class Connection:
    """A connection to a client. All methods are called in the server's thread."""

    def __init__(
        self,
        server: ConnectionServer,
        raw: socket.socket,
        network: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.network = network  # the address of the client, or its network (see ``network_of``)
        self._server = server
        self._raw = raw
        self._reader = reader
        self._writer = writer

    @property
    def is_admitted(self) -> bool:
        return self._server.limits.is_admitted(self._raw)

    def admit(self) -> None:
        """Keep this connection until it ends, because its client has shown that it may use the server."""
        self._server.limits.admit(self._raw)

    async def receive(self) -> bytes | None:
        """Return the next request up to and including the empty line after its headers; None if there is none. Raises
        ``TimeoutError`` and ``RequestTooLargeError``."""
        async with asyncio.timeout(REQUEST_TIMEOUT_S):
            try:
                return await self._reader.readuntil(_END_OF_REQUEST)
            except asyncio.IncompleteReadError:
                return None
            except asyncio.LimitOverrunError as error:
                raise RequestTooLargeError from error

    async def receive_body(self, length: int) -> bytes | None:
        """Return the ``length`` bytes of a request's body; None if the client ends the connection before. Raises
        ``TimeoutError``."""
        async with asyncio.timeout(REQUEST_TIMEOUT_S):
            try:
                return await self._reader.readexactly(length)
            except asyncio.IncompleteReadError:
                return None

    async def wait_until_closed(self) -> None:
        """Return when the client ends its side of the connection. What it sends before is discarded, so there can be no
        further request."""
        with contextlib.suppress(ConnectionError):
            while await self._reader.read(MAX_REQUEST_BYTES):
                pass

    async def send(self, *parts: bytes) -> None:
        """Send ``parts``. Raises ``TimeoutError`` if the client does not take a chunk in time, and
        ``ConnectionError``."""
        for part in parts:
            for start in range(0, len(part), _CHUNK_BYTES):
                self._writer.write(memoryview(part)[start : start + _CHUNK_BYTES])
                async with asyncio.timeout(_SEND_TIMEOUT_S):
                    await self._writer.drain()


class ConnectionServer(ABC):
    """Serves at most ``max_clients`` connections at a time, at ``host`` and ``port``; further connections are answered
    with status 503. With port 0, the system chooses a free port. ``tls`` is the context of encrypted connections.

    ``report`` is called with a line of text if a connection fails for a reason that is not its client's. The line names
    the server with ``name``, a noun such as dashboard. The server runs in a thread between ``start`` and ``close``.
    Raises ``OSError`` and ``OverflowError`` if it cannot listen.
    """

    def __init__(
        self,
        host: str,
        port: int,
        max_clients: int,
        tls: ssl.SSLContext | None,
        report: Callable[[str], None],
        name: str,
    ) -> None:
        self.limits = ConnectionLimits(max_clients)
        self.is_encrypted = tls is not None
        self._tls = tls
        self._report = report
        self._name = name
        self._listener = socket.create_server(
            (host, port),
            family=socket.AF_INET6 if ":" in host else socket.AF_INET,
            backlog=32,
            # All addresses of this computer include those of IPv4.
            dualstack_ipv6=host == "::" and socket.has_dualstack_ipv6(),
        )
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._failed_in_background)
        self._thread = threading.Thread(target=self._run, name=f"arenite-{name}", daemon=True)
        self._tasks: dict[asyncio.Task[None], asyncio.Transport | None] = {}
        self._accepting: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._waiters = 0

    @abstractmethod
    async def serve(self, connection: Connection) -> None:
        """Answer the requests of a connection, which ends when this returns."""

    def start(self) -> None:
        self._accepting = self._loop.create_task(self._accept())
        self._thread.start()

    def close(self) -> None:
        """End all connections, and wait until they have ended. Any thread may call it, once."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def wake(self) -> None:
        """Make every waiting ``wait_for`` call its function again. Any thread may call ``wake``; it costs nothing if no
        coroutine waits."""
        if self._waiters:
            with contextlib.suppress(RuntimeError):  # the server has ended
                self._loop.call_soon_threadsafe(self._wake_waiters)

    async def wait_for(self, get_value: Callable[[], _T | None], seconds: float) -> _T | None:
        """Return the first result of ``get_value`` that is not None. ``get_value`` is called now and after every
        ``wake``. Return None after ``seconds``."""
        # The number is changed before the first call, so that a ``wake`` after this call is not lost.
        self._waiters += 1
        try:
            async with asyncio.timeout(seconds):
                while (value := get_value()) is None:
                    await self._changed.wait()
                return value
        except TimeoutError:
            return None
        finally:
            self._waiters -= 1

    def _wake_waiters(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._end())
        finally:
            self._listener.close()
            self._loop.close()

    async def _end(self) -> None:
        """End the connections. Those that wait in ``wait_for`` have 0.1 seconds to end by themselves."""
        assert self._accepting is not None
        self._accepting.cancel()
        self._wake_waiters()
        waiting = {*self._tasks}
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=0.1)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=_CLOSE_S)
        for transport in self._tasks.values():
            if transport is not None:
                transport.abort()

    async def _accept(self) -> None:
        while True:
            try:
                raw, address = await self._loop.sock_accept(self._listener)
            except OSError:
                # The client has already gone, or this process has too many open files.
                await asyncio.sleep(0.1)
                continue
            network = network_of(address[0])
            has_room, evicted = self.limits.add(raw, network)
            if evicted is not None:
                # The task of the evicted connection then reads the end of the stream, and closes the connection.
                with contextlib.suppress(OSError):
                    evicted.shutdown(socket.SHUT_RDWR)
            if has_room:
                task = self._loop.create_task(self._handle(raw, network))
                self._tasks[task] = None
                task.add_done_callback(lambda done: self._tasks.pop(done, None))
            else:
                self._refuse(raw)

    def _refuse(self, raw: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if not self.is_encrypted:
                raw.send(_FULL)
            raw.shutdown(socket.SHUT_WR)
        raw.close()

    async def _handle(self, raw: socket.socket, network: str) -> None:
        writer: asyncio.StreamWriter | None = None
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            reader = asyncio.StreamReader(MAX_REQUEST_BYTES)
            protocol = asyncio.StreamReaderProtocol(reader)
            transport, _ = await self._loop.connect_accepted_socket(
                lambda: protocol,
                raw,
                ssl=self._tls,
                ssl_handshake_timeout=REQUEST_TIMEOUT_S if self._tls is not None else None,
                ssl_shutdown_timeout=_CLOSE_S if self._tls is not None else None,
            )
            task = asyncio.current_task()
            assert task is not None
            self._tasks[task] = transport
            writer = asyncio.StreamWriter(transport, protocol, reader, self._loop)
            await self.serve(Connection(self, raw, network, reader, writer))
            # Data that was sent, but not yet received, would be lost if the connection ended with unread requests.
            async with asyncio.timeout(_SEND_TIMEOUT_S):
                await writer.drain()
                if writer.can_write_eof():
                    writer.write_eof()
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # clients may close the connection, or be too slow; handshakes fail with errors of this kind
        except Exception as error:
            self._report(f"A connection to the {self._name} failed: {type(error).__name__}: {error}")
        finally:
            self.limits.remove(raw)
            if writer is not None:
                await self._close(writer)
            else:
                raw.close()

    async def _close(self, writer: asyncio.StreamWriter) -> None:
        writer.close()
        try:
            async with asyncio.timeout(_CLOSE_S):
                await writer.wait_closed()
        except (OSError, TimeoutError, asyncio.CancelledError):
            writer.transport.abort()

    def _failed_in_background(self, _: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """Report an error that happened in asyncio, outside of a task of this class. Errors of connections
        (``OSError``) are not reported."""
        error = context.get("exception")
        if error is not None and not isinstance(error, OSError):
            self._report(f"The {self._name} failed: {type(error).__name__}: {error}")
