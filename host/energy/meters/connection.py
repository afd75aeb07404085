"""Connect to an instrument over a serial port or a TCP socket."""

from __future__ import annotations

import re
import socket
import time

from arenite.errors import DeviceError, UsageError
from arenite.host.link.transport import SerialTransport, Transport

#: The start of a network address: ``tcp:``, pyserial's ``socket://``, or HOST:PORT without a prefix. No serial port has
#: a name of the form HOST:PORT.
_NETWORK = re.compile(r"^(?:tcp:(?://)?|socket://|(?=[\w.-]+:\d+$))")


class TcpConnection:
    """A TCP connection as a :class:`Transport`."""

    def __init__(self, host: str, port: int, timeout_s: float = 5.0) -> None:
        """Connect. Raises DeviceError if no server answers at this address."""
        self.port = f"{host}:{port}"
        try:
            self._socket = socket.create_connection((host, port), timeout=timeout_s)
        except OSError as error:
            raise DeviceError(
                f"Nothing answers at {self.port}: {error.strerror or error}.",
                "Check that the instrument is on, that its server is started, and that the port is right.",
            ) from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def read(self, timeout_s: float) -> bytes:
        """See :class:`Transport`. Raises DeviceError if the instrument has closed the connection."""
        self._socket.settimeout(max(timeout_s, 0.001))
        try:
            data = self._socket.recv(1 << 16)
        except TimeoutError:
            return b""
        except OSError as error:
            raise DeviceError(f"The connection to {self.port} broke: {error}.", "Connect again.") from error
        if not data:
            raise DeviceError(
                f"{self.port} closed the connection.", "Close other programs that use the instrument."
            )
        return data

    def write(self, data: bytes) -> None:
        """See :class:`Transport`."""
        self._socket.settimeout(10)
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise DeviceError(f"The connection to {self.port} broke: {error}.", "Connect again.") from error

    def discard_input(self) -> None:
        """See :class:`Transport`."""
        while self.read(0):
            pass

    def close(self) -> None:
        """See :class:`Transport`."""
        self._socket.close()


def open_connection(where: str, baud: int = 115200, tcp_port: int | None = None) -> Transport:
    """Open a serial port such as ``/dev/ttyACM0`` or ``COM3``, or a socket ``tcp:HOST[:PORT]``. ``tcp_port`` is the
    default port of a socket.

    Raises:
        UsageError: the address has no valid port number.
        DeviceError: the connection fails.
    """
    if not _NETWORK.match(where):
        return SerialTransport(where, baud)
    host, _, number = _NETWORK.sub("", where, 1).partition(":")
    if number.isdigit():
        tcp_port = int(number)
    if not host or tcp_port is None or (number and not number.isdigit()) or not 0 < tcp_port < 65536:
        raise UsageError(
            f"'{where}' is not an address of an instrument.",
            "Write tcp:HOST:PORT, such as tcp:10.0.0.7:5025.",
        )
    return TcpConnection(host, tcp_port)


def drain(transport: Transport, quiet_s: float = 0.1, timeout_s: float = 3.0) -> None:
    """Discard the data that an instrument still sends, until it is quiet for ``quiet_s``. Raises DeviceError if it is
    not quiet within ``timeout_s``."""
    end = time.monotonic() + timeout_s
    while transport.read(quiet_s):
        if time.monotonic() > end:
            raise DeviceError(
                f"The instrument on {transport.port} does not stop sending.",
                "Unplug it and plug it in again, and close its own program.",
            )


class TextLines:
    """Reads text lines from a byte transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._pending = b""

    def read(self, timeout_s: float) -> str | None:
        """Return the next line without its line end; None if no line was complete within ``timeout_s``."""
        end = time.monotonic() + timeout_s
        while b"\n" not in self._pending:
            remaining = end - time.monotonic()
            if remaining <= 0:
                return None
            self._pending += self._transport.read(min(remaining, 0.5))
        raw, _, self._pending = self._pending.partition(b"\n")
        return raw.decode("ascii", "replace").strip("\r\n\0")

    def take_rest(self) -> bytes:
        """Remove the bytes after the last complete line from the buffer and return them."""
        remainder, self._pending = self._pending, b""
        return remainder
