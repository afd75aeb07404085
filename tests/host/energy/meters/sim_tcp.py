"""The base class of the simulated instruments that answer lines of text over TCP."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self


class TcpInstrument:
    """A simulated instrument. ``port`` is its address for the option ``--port`` of the commands."""

    end = b"\n"  # the end of each reply

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = f"tcp:127.0.0.1:{self._server.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._client: socket.socket | None = None
        self._closing = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        with suppress(OSError):
            socket.create_connection(self._server.getsockname(), timeout=1).close()
        if self._client is not None:
            with suppress(OSError):
                self._client.shutdown(socket.SHUT_RDWR)
        self._thread.join(60)
        self._server.close()

    def _serve(self) -> None:
        while not self._closing:
            self._client, _ = self._server.accept()
            with self._client, suppress(OSError):
                self._client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._client.sendall(self.greeting())
                pending = b""
                while data := self._client.recv(1 << 16):
                    pending += data
                    while b"\n" in pending:
                        line, _, pending = pending.partition(b"\n")
                        reply = self.answer(line.decode().strip())
                        if reply is not None:
                            self._client.sendall(reply.encode() + self.end)

    def greeting(self) -> bytes:
        """Return the bytes that the instrument sends when a client connects."""
        return b""

    def answer(self, line: str) -> str | None:
        """Return the reply to ``line``, or None for no reply. Every subclass implements this."""
        raise NotImplementedError
