"""A client of the GDB remote protocol: enough to load a program, read it back, and run it.

Source: "Debugging with GDB", appendix "GDB Remote Serial Protocol". A packet is ``$data#cc``, cc the sum of
the data's bytes modulo 256 in hexadecimal; both sides acknowledge with ``+`` until ``QStartNoAckMode`` ends
that.
"""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path

from arenite.errors import DeviceError

_ESCAPE, _SPECIAL = 0x7D, b"#$}*"
_LEAST_PACKET = 400  # bytes of a packet where the server does not state a size


class GdbRemote:
    """A connection to a GDB server: ``HOST:PORT``, or the path of a Unix socket."""

    def __init__(self, address: str, *, timeout_s: float = 10.0) -> None:
        """Connect and read the server's features. Raises DeviceError when the connection fails or no GDB
        server answers."""
        self.address = address
        self._timeout_s = timeout_s
        self._socket = _connect(address, timeout_s)
        self._pending = bytearray()
        self._acknowledged = True
        self._binary: bool | None = None
        features = self.request(b"qSupported:swbreak+").decode("ascii", "replace").split(";")
        sizes = [f.partition("=")[2] for f in features if f.startswith("PacketSize=")]
        self.packet_size = int(sizes[0], 16) if sizes else _LEAST_PACKET
        self.features = frozenset(features)
        if "QStartNoAckMode+" in features and self.request(b"QStartNoAckMode") == b"OK":
            self._acknowledged = False
        self.request(b"?")  # stops a server that lets its target run

    def request(self, packet: bytes) -> bytes:
        """Send a packet and return the reply's data, which is empty when the server does not know the packet."""
        self._send(packet)
        return self._reply(packet)

    def monitor(self, command: str) -> str:
        """Run a command of the server's own (GDB's ``monitor``) and return its output. Raises DeviceError
        when it is refused."""
        packet = b"qRcmd," + command.encode("ascii").hex().encode("ascii")
        self._send(packet)
        printed = ""
        while True:
            reply = self._reply(packet)
            if reply[:1] == b"O" and reply != b"OK":
                printed += bytes.fromhex(reply[1:].decode("ascii")).decode("ascii", "replace")
            elif reply == b"OK":
                return printed
            else:
                raise self._refused(f"monitor {command}", reply)

    def write(self, address: int, data: bytes) -> None:
        """Write ``data`` into memory at ``address``. Raises DeviceError when the server refuses."""
        at = 0
        while at < len(data):
            at += self._write_some(address + at, data[at:])

    def _write_some(self, address: int, data: bytes) -> int:
        """Write as much as one packet holds; binary where the server supports it, else in hexadecimal."""
        room = self.packet_size - 40
        if self._binary is not False:
            taken, body = escaped(data, room)
            reply = self.request(b"X%x,%x:" % (address, taken) + body)
            if reply or self._binary:
                self.require_ok(reply, f"{taken} bytes at {address:#x}")
                self._binary = True
                return taken
            self._binary = False
        part = data[: room // 2]
        reply = self.request(b"M%x,%x:" % (address, len(part)) + part.hex().encode("ascii"))
        self.require_ok(reply, f"{len(part)} bytes at {address:#x}")
        return len(part)

    def read(self, address: int, nbytes: int) -> bytes:
        """``nbytes`` bytes of memory.  Raises DeviceError when the server refuses."""
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
        """The server's own CRC-32 of memory (:func:`crc32`); None where it has none."""
        reply = self.request(b"qCRC:%x,%x" % (address, nbytes))
        return int(reply[1:], 16) if reply[:1] == b"C" else None

    def detach(self) -> None:
        """Let the target run and close the connection."""
        with contextlib.suppress(DeviceError):
            self.request(b"D")
        self.close()

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._socket.close()

    def _send(self, packet: bytes) -> None:
        try:
            self._socket.sendall(b"$" + packet + b"#%02x" % (sum(packet) & 0xFF))
        except OSError as error:
            raise self._lost(error) from error

    def _reply(self, packet: bytes) -> bytes:
        """The data of the next packet."""
        end = time.monotonic() + self._timeout_s
        while True:
            start = self._pending.find(b"$")
            stop = self._pending.find(b"#", start) if start >= 0 else -1
            if 0 <= stop <= len(self._pending) - 3:
                data = bytes(self._pending[start + 1 : stop])
                checksum_text = bytes(self._pending[stop + 1 : stop + 3])
                del self._pending[: stop + 3]
                good = checksum_text.lower() == b"%02x" % (sum(data) & 0xFF)
                if self._acknowledged:
                    self._socket.sendall(b"+" if good else b"-")
                if good:
                    return _expanded(data)
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
        """Raises DeviceError unless ``reply`` is OK."""
        if reply != b"OK":
            raise self._refused(f"writing {action}", reply)

    def _refused(self, action: str, reply: bytes) -> DeviceError:
        reply_text = reply.decode("ascii", "replace") or "it does not know the command"
        return DeviceError(
            f"The GDB server at {self.address} refuses {action}: {reply_text}.",
            "Is there memory at that address? Was the project built for this board?",
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


def escaped(data: bytes, room: int) -> tuple[int, bytes]:
    """The number of bytes of ``data`` that fit into ``room`` of a packet, and their escaped form."""
    taken, body = 0, bytearray()
    while taken < len(data) and len(body) < room - 1:
        byte = data[taken]
        body += bytes([_ESCAPE, byte ^ 0x20]) if byte in _SPECIAL else bytes([byte])
        taken += 1
    return taken, bytes(body)


def unescaped(data: bytes) -> bytes:
    """Undo :func:`escaped`."""
    out, after = bytearray(), False
    for byte in data:
        if after:
            out.append(byte ^ 0x20)
        elif byte != _ESCAPE:
            out.append(byte)
        after = byte == _ESCAPE and not after
    return bytes(out)


def _expanded(data: bytes) -> bytes:
    """Undo run-length encoding: ``x*c`` means x, and c - 29 times more."""
    if b"*" not in data:
        return data
    out = bytearray()
    at = 0
    while at < len(data):
        if data[at : at + 1] == b"*" and out and at + 1 < len(data):
            out += bytes([out[-1]]) * (data[at + 1] - 29)
            at += 2
        else:
            out.append(data[at])
            at += 1
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
    """The checksum of ``qCRC``: polynomial 0x04C11DB7, most significant bit first, from all ones, not inverted."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc << 8 & 0xFFFFFFFF) ^ _CRC[crc >> 24 ^ byte]
    return crc
