"""A board with USB of its own, in software: the kernel's USB/IP host controller takes it for a real one, and its own
driver for such ports (cdc_acm) serves it. What the host does to its lines is seen here, as on the board's side.

Descriptors are those of USB 2.0 and of the Communications Device Class, subclass ACM.
"""

from __future__ import annotations

import struct
import threading
import time
from collections import deque
from collections.abc import Callable

from tests.vm import vivid
from tests.vm.usbip import Transfer, UsbDevice

NOTICE, OUT, IN = 1, 2, 3  # endpoints
SET_CODING, GET_CODING, SET_LINES, BREAK = 0x20, 0x21, 0x22, 0x23


def _device(id: str) -> bytes:
    vendor, product = (int(text, 16) for text in id.split(":"))
    return struct.pack("<BBHBBBBHHHBBBB", 18, 1, 0x0200, 2, 0, 0, 64, vendor, product, 0x0100, 1, 2, 3, 1)


def _configuration() -> bytes:
    def interface(number: int, endpoints: int, kind: int, subclass: int) -> bytes:
        return struct.pack("<9B", 9, 4, number, 0, endpoints, kind, subclass, 0, 0)

    def endpoint(address: int, kind: int, size: int) -> bytes:
        return struct.pack("<BBBBHB", 7, 5, address, kind, size, 8 if kind == 3 else 0)

    functions = bytes([5, 0x24, 0, 0x10, 1, 5, 0x24, 1, 0, 1])  # CDC 1.10; calls are managed on interface 1
    functions += bytes([4, 0x24, 2, 0x06, 5, 0x24, 6, 0, 1])  # takes speed, lines and breaks; 0 rules over 1
    body = interface(0, 1, 2, 2) + functions + endpoint(0x80 | NOTICE, 3, 16)
    body += interface(1, 2, 10, 0) + endpoint(OUT, 2, 512) + endpoint(0x80 | IN, 2, 512)
    return struct.pack("<BBHBBBBB", 9, 2, 9 + len(body), 2, 1, 0, 0x80, 50) + body


class AcmBoard(UsbDevice):
    """``lines``: what the host did: ("baud", n), ("lines", (dtr, rts)), ("break", ms), with the time of each.

    ``heard(data)`` is called with what the host sends; ``say`` sends to the host. A board that ``bootloader`` is set
    for leaves the bus when it is asked at 1200 baud, and calls it.
    """

    def __init__(self, id: str, product: str, serial: str) -> None:
        super().__init__(port=1)
        self.lines: list[tuple[str, object, float]] = []
        self.heard: Callable[[bytes], None] = lambda data: None
        self.bootloader: Callable[[], None] | None = None
        self._strings = ("", "A maker", product, serial)
        self._id = id
        self._coding = struct.pack("<IBBB", 9600, 0, 0, 8)
        self._there = threading.Lock()
        self._waiting: dict[int, deque[tuple[int, int]]] = {NOTICE: deque(), IN: deque()}
        self._outgoing = bytearray()

    def plug(self) -> None:
        vivid.load("vhci-hcd")
        vivid.load("cdc-acm")
        self.attach()
        threading.Thread(target=self.serve, daemon=True).start()

    def say(self, data: bytes) -> None:
        with self._there:
            self._outgoing += data
            self._flush()

    def _flush(self) -> None:
        while self._outgoing and self._waiting[IN]:
            number, size = self._waiting[IN].popleft()
            part = bytes(self._outgoing[:size])
            del self._outgoing[:size]
            self._answer(number, part)

    def _submitted(self, transfer: Transfer) -> None:
        if transfer.endpoint == 0:
            self._control(transfer)
        elif transfer.to_device:
            self._answer(transfer.number, taken=len(transfer.data))
            self.heard(transfer.data)
        else:
            with self._there:
                self._waiting[transfer.endpoint].append((transfer.number, transfer.size))
                self._flush()

    def _call_back(self, number: int, victim: int) -> None:
        with self._there:
            waited = False
            for queue in self._waiting.values():
                for entry in [entry for entry in queue if entry[0] == victim]:
                    queue.remove(entry)
                    waited = True
            self._called_back(number, waited)

    def _control(self, transfer: Transfer) -> None:
        kind, request, value, _, _ = struct.unpack("<BBHHH", transfer.setup)
        made: bytes | None = None
        if kind == 0x80 and request == 6:
            which, item = value >> 8, value & 255
            if which in (1, 2):
                made = _device(self._id) if which == 1 else _configuration()
            elif which == 3 and item < len(self._strings):
                text = self._strings[item].encode("utf-16-le") if item else struct.pack("<H", 0x0409)
                made = bytes([2 + len(text), 3]) + text
        elif kind in (0x80, 0x81, 0x82) and request == 0:
            made = b"\0\0"
        elif kind in (0x00, 0x01, 0x02) and request in (1, 9, 11):
            made = b""
        elif kind == 0x21 and request in (SET_CODING, SET_LINES, BREAK):
            self._lines(request, value, transfer.data)
            made = b""
        elif kind == 0xA1 and request == GET_CODING:
            made = self._coding
        self._answer_control(transfer, made)
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
