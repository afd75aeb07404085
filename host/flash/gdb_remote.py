"""A client of the GDB remote protocol that can load a program, read it back, and run it.

Source: "Debugging with GDB", appendix "GDB Remote Serial Protocol". A packet is ``$data#cc``, where
cc is the sum of the data's bytes modulo 256 in hexadecimal. Both sides acknowledge packets with ``+`` until
``QStartNoAckMode`` is requested.
"""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path

from arenite.errors import DeviceError

_ESCAPE, _SPECIAL = 0x7D, b"#$}*"
_DEFAULT_PACKET_BYTES = 400  # size of a packet if the server does not state it
#: The bytes of a packet that are kept free for its command, address, length and checksum.
HEADER_BYTES = 40


class GdbRemote:
    """A connection to a GDB server at ``address``, which is ``HOST:PORT`` or the path of a Unix socket."""

    def __init__(self, address: str, *, timeout_s: float = 10.0) -> None:
        """Connect to the server and read its features. Raises DeviceError if the connection fails or no GDB server
        answers."""
        self.address = address
        self._timeout_s = timeout_s
        self._socket = _connect(address, timeout_s)
        self._pending = bytearray()
        self._acknowledged = True
        self._binary: bool | None = None
        features = self.request(b"qSupported:swbreak+").decode("ascii", "replace").split(";")
        sizes = [f.partition("=")[2] for f in features if f.startswith("PacketSize=")]
        self.packet_size = int(sizes[0], 16) if sizes else _DEFAULT_PACKET_BYTES
        self.features = frozenset(features)
        if "QStartNoAckMode+" in features and self.request(b"QStartNoAckMode") == b"OK":
            self._acknowledged = False
        self.request(b"?")  # stops a server that lets its target run

    def request(self, packet: bytes) -> bytes:
        """Send a packet and return the data of the reply. It is empty if the server does not know the packet."""
        self._send(packet)
        return self._reply(packet)

    def monitor(self, command: str) -> str:
        """Run a server-specific command, like GDB's ``monitor``, and return its output. Raises DeviceError if the
        server refuses it."""
        packet = b"qRcmd," + command.encode("ascii").hex().encode("ascii")
        self._send(packet)
        output = ""
        while True:
            reply = self._reply(packet)
            if reply[:1] == b"O" and reply != b"OK":
                output += bytes.fromhex(reply[1:].decode("ascii")).decode("ascii", "replace")
            elif reply == b"OK":
                return output
            else:
                raise self._refused(f"monitor {command}", reply)

    def write(self, address: int, data: bytes) -> None:
        """Write ``data`` into memory at ``address``. Raises DeviceError when the server refuses."""
        offset = 0
        while offset < len(data):
            offset += self._write_some(address + offset, data[offset:])

    def _write_some(self, address: int, data: bytes) -> int:
        """Write the first bytes of ``data`` with one packet, in binary if the server supports it, else in hexadecimal.
        Return the number of bytes that were written."""
        max_bytes = self.packet_size - HEADER_BYTES
        if self._binary is not False:
            written, body = escaped(data, max_bytes)
            reply = self.request(b"X%x,%x:" % (address, written) + body)
            if reply or self._binary:
                self.require_ok(reply, f"writing {written} bytes at {address:#x}")
                self._binary = True
                return written
            self._binary = False
        part = data[: max_bytes // 2]
        reply = self.request(b"M%x,%x:" % (address, len(part)) + part.hex().encode("ascii"))
        self.require_ok(reply, f"writing {len(part)} bytes at {address:#x}")
        return len(part)

    def read(self, address: int, nbytes: int) -> bytes:
        """Read ``nbytes`` bytes of memory. Raises DeviceError if the server refuses."""
        data = b""
        while len(data) < nbytes:
            count = min(nbytes - len(data), (self.packet_size - 8) // 2)
            reply = self.request(b"m%x,%x" % (address + len(data), count))
            try:
                part = bytes.fromhex(reply.decode("ascii"))
            except ValueError:
                part = b""
            if reply[:1] == b"E" or not part:
                raise self._refused(f"reading {address + len(data):#x}", reply)
            data += part
        return data

    def checksum(self, address: int, nbytes: int) -> int | None:
        """Return the CRC-32 of memory (as in :func:`crc32`) that the server computes, or None if the server does not
        support it."""
        reply = self.request(b"qCRC:%x,%x" % (address, nbytes))
        return int(reply[1:], 16) if reply[:1] == b"C" else None

    def detach(self) -> None:
        """Let the target run and close the connection."""
        with contextlib.suppress(DeviceError):
            self.request(b"D")
        self.close()

    def close(self) -> None:
        """Close the connection. A second call does nothing."""
        self._socket.close()

    def _send(self, packet: bytes) -> None:
        try:
            self._socket.sendall(b"$" + packet + b"#%02x" % (sum(packet) & 0xFF))
        except OSError as error:
            raise self._lost(error) from error

    def _reply(self, packet: bytes) -> bytes:
        """Wait for the next packet and return its data. ``packet`` is the request, for error messages."""
        end = time.monotonic() + self._timeout_s
        while True:
            start = self._pending.find(b"$")
            stop = self._pending.find(b"#", start) if start >= 0 else -1
            if 0 <= stop <= len(self._pending) - 3:
                data = bytes(self._pending[start + 1 : stop])
                checksum_text = bytes(self._pending[stop + 1 : stop + 3])
                del self._pending[: stop + 3]
                is_intact = checksum_text.lower() == b"%02x" % (sum(data) & 0xFF)
                if self._acknowledged:
                    self._socket.sendall(b"+" if is_intact else b"-")
                if is_intact:
                    return _expand_runs(data)
                continue
            remaining = end - time.monotonic()
            if remaining <= 0:
                raise DeviceError(
                    f"The GDB server at {self.address} does not answer {packet[:20]!r}.", "Start it again."
                )
            self._receive(remaining)

    def _receive(self, timeout_s: float) -> None:
        self._socket.settimeout(timeout_s)
        try:
            data = self._socket.recv(65536)
        except TimeoutError:
            return
        except OSError as error:
            raise self._lost(error) from error
        if not data:
            raise self._lost("it closed the connection")
        self._pending += data

    def require_ok(self, reply: bytes, action: str) -> None:
        """Raise DeviceError unless ``reply`` is OK. ``action`` is what the server refuses, such as "writing
        4 bytes at 0x0"."""
        if reply != b"OK":
            raise self._refused(action, reply)

    def _refused(self, action: str, reply: bytes) -> DeviceError:
        reply_text = reply.decode("ascii", "replace") or "it does not know the command"
        return DeviceError(
            f"The GDB server at {self.address} refuses {action}: {reply_text}.",
            "Check that the project was built for this board, and that there is memory at that address.",
        )

    def _lost(self, error: object) -> DeviceError:
        return DeviceError(
            f"The connection to the GDB server at {self.address} broke: {error}.", "Start it again."
        )


def _connect(address: str, timeout_s: float) -> socket.socket:
    end = time.monotonic() + timeout_s
    host, _, port = address.rpartition(":")
    while True:
        connection: socket.socket | None = None
        try:
            if port.isdigit() and not Path(address).exists():
                connection = socket.create_connection((host or "localhost", int(port)), timeout=timeout_s)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            else:
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                connection.settimeout(timeout_s)
                connection.connect(address)
            return connection
        except OSError as error:
            if connection is not None:
                connection.close()
            if time.monotonic() > end:
                raise DeviceError(
                    f"No GDB server listens at {address}: {error.strerror or error}.",
                    "Start it (openocd, pyocd gdbserver, qemu -gdb), and give its HOST:PORT as --port.",
                ) from error
            time.sleep(0.02)


def escaped(data: bytes, max_bytes: int) -> tuple[int, bytes]:
    """Return the number of bytes of ``data`` whose escaped form fits into ``max_bytes``, and this escaped form."""
    written, body = 0, bytearray()
    while written < len(data) and len(body) < max_bytes - 1:
        byte = data[written]
        body += bytes([_ESCAPE, byte ^ 0x20]) if byte in _SPECIAL else bytes([byte])
        written += 1
    return written, bytes(body)


def unescaped(data: bytes) -> bytes:
    """Return the bytes whose escaped form (see :func:`escaped`) is ``data``."""
    out, after_escape = bytearray(), False
    for byte in data:
        if after_escape:
            out.append(byte ^ 0x20)
        elif byte != _ESCAPE:
            out.append(byte)
        after_escape = byte == _ESCAPE and not after_escape
    return bytes(out)


def _expand_runs(data: bytes) -> bytes:
    """Return ``data`` without run-length encoding. The encoding ``x*c`` means: the byte x, and c - 29 more copies of
    x."""
    if b"*" not in data:
        return data
    out = bytearray()
    offset = 0
    while offset < len(data):
        if data[offset : offset + 1] == b"*" and out and offset + 1 < len(data):
            out += bytes([out[-1]]) * (data[offset + 1] - 29)
            offset += 2
        else:
            out.append(data[offset])
            offset += 1
    return bytes(out)


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        crc = byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc & 0x80000000 else 0)) & 0xFFFFFFFF
        table.append(crc)
    return tuple(table)


_CRC = _crc_table()


def crc32(data: bytes) -> int:
    """Return the checksum that the packet ``qCRC`` requests: a CRC-32 with polynomial 0x04C11DB7, most significant bit
    first, an initial value of all ones, and no inversion of the result."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc << 8 & 0xFFFFFFFF) ^ _CRC[crc >> 24 ^ byte]
    return crc
