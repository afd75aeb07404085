"""The device's side of USB/IP, for the kernel's software host controller (vhci_hcd).

The protocol on the socket follows Documentation/usb/usbip_protocol.rst.
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
_UNLINK, _REPLY_SUBMIT, _REPLY_UNLINK = 2, 3, 4  # commands of the protocol
_STALL, _RESET = -32, -104  # the status of a transfer: -EPIPE and -ECONNRESET
_HIGH_SPEED = 3  # the kernel's number of USB_SPEED_HIGH


@dataclass(frozen=True)
class Transfer:
    """A transfer that the host requests: its number, the number of bytes to read or the ``data`` to write, and for
    endpoint 0 the setup packet."""

    number: int
    endpoint: int
    size: int
    to_device: bool
    setup: bytes
    data: bytes


class UsbDevice(ABC):
    """A USB device at a port of the hub (the first port is 0). Subclasses process the device's transfers."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._link: socket.socket | None = None
        self._sending = threading.Lock()

    def attach(self) -> None:
        """Connect the device. Afterwards ``serve`` must answer the host."""
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        (_HUB / "attach").write_text(
            f"{self._port} {theirs.fileno()} {0x00010001 + self._port} {_HIGH_SPEED}"
        )
        theirs.close()

    def pull(self) -> None:
        """Disconnect the device from the bus."""
        if self._link is not None:
            with contextlib.suppress(OSError):
                self._link.shutdown(socket.SHUT_RDWR)
            self._link = None

    def serve(self) -> None:
        """Answer the host until it closes the socket or the device is disconnected."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                head = self._receive(48)
                command, number, _, direction, endpoint, rest, size = struct.unpack_from(">6Ii", head)
                if command == _UNLINK:
                    self._cancel(number, rest)
                    continue
                to_device = direction == 0
                data = self._receive(size) if to_device and size > 0 else b""
                self._on_transfer(Transfer(number, endpoint, size, to_device, head[40:48], data))

    @abstractmethod
    def _on_transfer(self, transfer: Transfer) -> None:
        """Answer the transfer now, or keep it and answer it when there is data."""

    @abstractmethod
    def _cancel(self, number: int, cancelled: int) -> None:
        """Cancel the transfer ``cancelled`` if it is still pending, and call ``_confirm_cancel``."""

    def _confirm_cancel(self, number: int, was_pending: bool) -> None:
        self._write(struct.pack(">5Ii24x", _REPLY_UNLINK, number, 0, 0, 0, _RESET if was_pending else 0))

    def _answer(
        self, number: int, data: bytes = b"", *, accepted: int | None = None, status: int = 0
    ) -> None:
        """Answer transfer ``number`` with ``data`` for the host or, if the host sent data, with the number of
        ``accepted`` bytes."""
        head = struct.pack(">5I", _REPLY_SUBMIT, number, 0, 0, 0)
        head += struct.pack(">iiiii8x", status, len(data) if accepted is None else accepted, 0, 0, 0)
        self._write(head + data)

    def _answer_control(self, transfer: Transfer, reply: bytes | None) -> None:
        """Answer a setup packet with ``reply``, or stall the endpoint if it is None."""
        kind, _, _, _, length = struct.unpack("<BBHHH", transfer.setup)
        if reply is None:
            self._answer(transfer.number, status=_STALL)
        elif kind & 0x80:
            self._answer(transfer.number, reply[:length])
        else:
            self._answer(transfer.number, accepted=len(transfer.data))

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
