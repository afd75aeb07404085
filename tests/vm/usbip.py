"""The device's side of USB/IP, as the kernel's host controller in software (vhci_hcd) speaks it.

The bytes on the socket are those of Documentation/usb/usbip_protocol.rst.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

_HUB = Path("/sys/devices/platform/vhci_hcd.0")
_UNLINK, _DID_SUBMIT, _DID_UNLINK = 2, 3, 4
_STALL, _RESET = -32, -104
_HIGH_SPEED = 3


@dataclass(frozen=True)
class Transfer:
    """That the host asks for: its number, how many bytes it takes or ``data`` that it gives, and of endpoint 0 the
    setup packet."""

    number: int
    endpoint: int
    size: int
    to_device: bool
    setup: bytes
    data: bytes


class UsbDevice(ABC):
    """Subclasses say what becomes of a transfer. ``port``: of the hub, from 0 on."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._link: socket.socket | None = None
        self._sending = threading.Lock()

    def attach(self) -> None:
        """Plug it in; ``serve`` answers the host from then on."""
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        (_HUB / "attach").write_text(
            f"{self._port} {theirs.fileno()} {0x00010001 + self._port} {_HIGH_SPEED}"
        )
        theirs.close()

    def pull(self) -> None:
        """The host sees it leave the bus."""
        if self._link is not None:
            with contextlib.suppress(OSError):
                self._link.shutdown(socket.SHUT_RDWR)
            self._link = None

    def serve(self) -> None:
        """Until the host lets go of the socket, or the device is pulled."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                head = self._receive(48)
                command, number, _, direction, endpoint, rest, size = struct.unpack_from(">6Ii", head)
                if command == _UNLINK:
                    self._call_back(number, rest)
                    continue
                to_device = direction == 0
                data = self._receive(size) if to_device and size > 0 else b""
                self._submitted(Transfer(number, endpoint, size, to_device, head[40:48], data))

    @abstractmethod
    def _submitted(self, transfer: Transfer) -> None:
        """Answer it now or, what waits for data, later."""

    @abstractmethod
    def _call_back(self, number: int, victim: int) -> None:
        """Take back the transfer ``victim`` if it still waits, and say so with ``_called_back``."""

    def _called_back(self, number: int, waited: bool) -> None:
        self._write(struct.pack(">5Ii24x", _DID_UNLINK, number, 0, 0, 0, _RESET if waited else 0))

    def _answer(self, number: int, data: bytes = b"", *, taken: int | None = None, status: int = 0) -> None:
        """What the host gets, or how many bytes were ``taken`` of it."""
        head = struct.pack(">5I", _DID_SUBMIT, number, 0, 0, 0)
        head += struct.pack(">iiiii8x", status, len(data) if taken is None else taken, 0, 0, 0)
        self._write(head + data)

    def _answer_control(self, transfer: Transfer, made: bytes | None) -> None:
        """``made``: what the device has to say to the setup packet; None: nothing, it stalls."""
        kind, _, _, _, length = struct.unpack("<BBHHH", transfer.setup)
        if made is None:
            self._answer(transfer.number, status=_STALL)
        elif kind & 0x80:
            self._answer(transfer.number, made[:length])
        else:
            self._answer(transfer.number, taken=len(transfer.data))

    def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            link = self._link
            more = link.recv(size - len(data)) if link is not None else b""
            if not more:
                raise EOFError
            data += more
        return data

    def _write(self, data: bytes) -> None:
        with self._sending:
            if self._link is not None:
                self._link.sendall(data)
