"""A device on a pseudo-terminal that answers each request with a frame of the test's choice."""

from __future__ import annotations

import os
import pty
import struct
import threading
import tty
from collections.abc import Callable
from types import TracebackType
from typing import Self

from arenite.host.link.client import DONE, HEALTH, HELLO, LOG, PROTOCOL_VERSION
from arenite.host.link.frames import FrameDecoder, encode_frame

#: A function that returns the status and the data of the reply to a request. The bytes of the request are sequence
#: number, command, kind, index and arguments.
Answer = Callable[[bytes], tuple[int, bytes]]


def greeting(model: bytes = b"toy", board: bytes = b"board", inputs: int = 0, outputs: int = 0) -> bytes:
    """Return the data of the reply to HELLO."""
    head = struct.pack("<BBBBHHI8sI", PROTOCOL_VERSION, inputs, outputs, 0, 1, 240, 64, bytes(8), 1000)
    return head + model + b"\0" + board + b"\0"


def healthy(request: bytes) -> tuple[int, bytes]:
    """Answer HELLO and HEALTH like a real device, and every other request with an empty reply."""
    if request[1] == HELLO:
        return DONE, greeting()
    return DONE, struct.pack("<14I", *[1] * 14) if request[1] == HEALTH else b""


def endless_log(request: bytes) -> tuple[int, bytes]:
    """Answer like a healthy device, but every request for the log with ten more entries."""
    if request[1] != LOG:
        return healthy(request)
    (first,) = struct.unpack_from("<I", request, 4)
    return DONE, b"".join(struct.pack("<5I", first + k, 0, 1, 0, 0) for k in range(10))


class HostileDevice:
    """A device that answers requests on ``port`` until the ``with`` block ends."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._near, self._far = pty.openpty()
        tty.setraw(self._far)
        self.port = os.ttyname(self._far)
        self.requests = 0
        self._ending = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        decoder = FrameDecoder()
        while not self._ending:
            for request in decoder.feed(os.read(self._near, 4096)):
                if isinstance(request, bytes):
                    self.requests += 1
                    status, data = self._answer(request)
                    os.write(self._near, encode_frame(bytes([request[0], status, request[1], 0]) + data))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending = True
        os.write(self._far, b"x")  # wakes the thread
        self._thread.join()
        os.close(self._near)
        os.close(self._far)
