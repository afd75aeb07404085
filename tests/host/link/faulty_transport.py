"""A serial line that loses, changes and doubles bytes, controlled by a seeded random generator."""

from __future__ import annotations

import os
import pty
import random
import threading
import tty
from collections.abc import Callable
from types import TracebackType
from typing import Self

from arenite.host.link.transport import SerialTransport

Fault = Callable[[bytes], bytes]


class RandomFaults:
    """Damages data: with probability ``rate``, a byte is dropped or doubled, gets a flipped bit, or noise is inserted
    before it. ``count`` is the number of faults."""

    def __init__(self, rate: float, seed: int) -> None:
        self._rate = rate
        self._random = random.Random(seed)
        self.count = 0

    def __call__(self, data: bytes) -> bytes:
        out = bytearray()
        for byte in data:
            if self._random.random() >= self._rate:
                out.append(byte)
                continue
            self.count += 1
            fault_kind = self._random.randrange(4)
            if fault_kind == 1:
                out.append(byte ^ (1 << self._random.randrange(8)))
            elif fault_kind == 2:
                out += bytes([byte, byte])
            elif fault_kind == 3:
                out += self._random.randbytes(self._random.randrange(1, 40)) + bytes([byte])
        return bytes(out)


def clean(data: bytes) -> bytes:
    """Return the data unchanged."""
    return data


class FaultyLine:
    """A serial line between ``device`` and ``port``, a pseudo-terminal that a host opens instead of the device's port.
    ``to_device`` and ``to_host`` damage the data in each direction."""

    def __init__(self, device: SerialTransport, *, to_device: Fault = clean, to_host: Fault = clean) -> None:
        self._device = device
        self._faults = (to_device, to_host)
        self._near, self._far = pty.openpty()
        tty.setraw(self._far)
        self.port = os.ttyname(self._far)
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._down, self._up)]

    def _down(self) -> None:
        """Forward data from the host to the device."""
        while not self._stop.is_set():
            data = os.read(self._near, 4096)
            if not self._stop.is_set():
                self._device.write(self._faults[0](data))

    def _up(self) -> None:
        """Forward data from the device to the host."""
        while not self._stop.is_set():
            data = self._device.read(0.05)
            if data:
                os.write(self._near, self._faults[1](data))

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        os.write(self._far, b"x")  # wakes the thread that waits for the host
        for thread in self._threads:
            thread.join()
        os.close(self._near)
        os.close(self._far)
