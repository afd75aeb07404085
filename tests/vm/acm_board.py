"""A board with native USB, simulated in software. The kernel's USB/IP host controller connects it like a real board,
and the kernel's driver for USB serial ports (cdc_acm) operates it. The board records every change of its control
lines.

The descriptors follow USB 2.0 and the Communications Device Class, subclass ACM.
"""

from __future__ import annotations

import struct
import threading
import time
from collections import deque
from collections.abc import Callable

from tests.vm import vivid
from tests.vm.usbip import Transfer, UsbDevice

NOTICE, OUT, IN = 1, 2, 3  # endpoint numbers: notifications, data from the host, data to the host
#: Requests of the class: the speed and format of the line, its control lines, and a break.
SET_CODING, GET_CODING, SET_LINES, BREAK = 0x20, 0x21, 0x22, 0x23


def _device(id: str) -> bytes:
    """Return the device descriptor of a board with the USB ID ``vvvv:pppp``."""
    vendor, product = (int(text, 16) for text in id.split(":"))
    return struct.pack("<BBHBBBBHHHBBBB", 18, 1, 0x0200, 2, 0, 0, 64, vendor, product, 0x0100, 1, 2, 3, 1)


def _configuration() -> bytes:
    """Return the configuration descriptor with those of its interfaces and endpoints."""

    def interface(number: int, endpoints: int, kind: int, subclass: int) -> bytes:
        return struct.pack("<9B", 9, 4, number, 0, endpoints, kind, subclass, 0, 0)

    def endpoint(address: int, kind: int, size: int) -> bytes:
        return struct.pack("<BBBBHB", 7, 5, address, kind, size, 8 if kind == 3 else 0)

    functions = bytes([5, 0x24, 0, 0x10, 1, 5, 0x24, 1, 0, 1])  # CDC 1.10; interface 1 manages calls
    # Supports speed, lines and breaks; interface 0 controls 1.
    functions += bytes([4, 0x24, 2, 0x06, 5, 0x24, 6, 0, 1])
    body = interface(0, 1, 2, 2) + functions + endpoint(0x80 | NOTICE, 3, 16)
    body += interface(1, 2, 10, 0) + endpoint(OUT, 2, 512) + endpoint(0x80 | IN, 2, 512)
    return struct.pack("<BBHBBBBB", 9, 2, 9 + len(body), 2, 1, 0, 0x80, 50) + body


class AcmBoard(UsbDevice):
    """A USB serial port.

    ``lines`` records the host's requests as (name, value, time): ("baud", n), ("lines", (dtr, rts)) or ("break", ms).
    ``on_data(data)`` is called with data from the host; ``send`` sends data to the host. If ``bootloader`` is set, a
    1200-baud signal makes the board leave the bus and call ``bootloader``.
    """

    def __init__(self, id: str, product: str, serial: str) -> None:
        super().__init__(port=1)
        self.lines: list[tuple[str, object, float]] = []
        self.on_data: Callable[[bytes], None] = lambda data: None
        self.bootloader: Callable[[], None] | None = None
        self._strings = ("", "A maker", product, serial)
        self._id = id
        self._coding = struct.pack("<IBBB", 9600, 0, 0, 8)
        self._lock = threading.Lock()
        self._pending: dict[int, deque[tuple[int, int]]] = {NOTICE: deque(), IN: deque()}
        self._outgoing = bytearray()

    def plug(self) -> None:
        """Connect the board to the bus, and answer the host in a thread."""
        vivid.load("vhci-hcd")
        vivid.load("cdc-acm")
        self.attach()
        threading.Thread(target=self.serve, daemon=True).start()

    def send(self, data: bytes) -> None:
        with self._lock:
            self._outgoing += data
            self._flush()

    def _flush(self) -> None:
        """Answer pending reads of the host with the outgoing data."""
        while self._outgoing and self._pending[IN]:
            number, size = self._pending[IN].popleft()
            part = bytes(self._outgoing[:size])
            del self._outgoing[:size]
            self._answer(number, part)

    def _on_transfer(self, transfer: Transfer) -> None:
        if transfer.endpoint == 0:
            self._control(transfer)
        elif transfer.to_device:
            self._answer(transfer.number, accepted=len(transfer.data))
            self.on_data(transfer.data)
        else:
            with self._lock:
                self._pending[transfer.endpoint].append((transfer.number, transfer.size))
                self._flush()

    def _cancel(self, number: int, cancelled: int) -> None:
        with self._lock:
            was_pending = False
            for queue in self._pending.values():
                for entry in [entry for entry in queue if entry[0] == cancelled]:
                    queue.remove(entry)
                    was_pending = True
            self._confirm_cancel(number, was_pending)

    def _control(self, transfer: Transfer) -> None:
        kind, request, value, _, _ = struct.unpack("<BBHHH", transfer.setup)
        reply: bytes | None = None
        if kind == 0x80 and request == 6:
            descriptor, item = value >> 8, value & 255
            if descriptor in (1, 2):
                reply = _device(self._id) if descriptor == 1 else _configuration()
            elif descriptor == 3 and item < len(self._strings):
                text = self._strings[item].encode("utf-16-le") if item else struct.pack("<H", 0x0409)
                reply = bytes([2 + len(text), 3]) + text
        elif kind in (0x80, 0x81, 0x82) and request == 0:
            reply = b"\0\0"
        elif kind in (0x00, 0x01, 0x02) and request in (1, 9, 11):
            reply = b""
        elif kind == 0x21 and request in (SET_CODING, SET_LINES, BREAK):
            self._lines(request, value, transfer.data)
            reply = b""
        elif kind == 0xA1 and request == GET_CODING:
            reply = self._coding
        self._answer_control(transfer, reply)
        if request == SET_LINES and self.bootloader is not None and self._baud == 1200 and not value & 1:
            self.pull()
            self.bootloader()

    @property
    def _baud(self) -> int:
        return int(struct.unpack_from("<I", self._coding)[0])

    def _lines(self, request: int, value: int, data: bytes) -> None:
        event: str
        state: object
        if request == SET_CODING:
            self._coding = data
            event, state = "baud", self._baud
        elif request == SET_LINES:
            event, state = "lines", (bool(value & 1), bool(value & 2))
        else:
            event, state = "break", value
        self.lines.append((event, state, time.monotonic()))
