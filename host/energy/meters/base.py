"""Define the interface of every meter, and the common part of drivers whose meter sends samples without being polled.
An example of its use:

with open_meter("ppk2", "/dev/ttyACM0", supply_v=3.3) as meter:
    meter.start()
    ...                      # the board works
    trace = meter.stop()
"""

from __future__ import annotations

import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meters.arrival_rate import steady_rate
from arenite.host.energy.meters.trace import Trace, join
from arenite.host.link.transport import Transport


class Meter(ABC):
    """A meter of current or power. ``open`` connects to the instrument and identifies it; ``start`` and ``stop`` make a
    recording. All three methods can be repeated."""

    name: str

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def open(self) -> None:
        """Connect to the meter, and set its supply voltage if it supplies the board. Raises DeviceError, UsageError."""

    @abstractmethod
    def start(self) -> None:
        """Start recording."""

    @abstractmethod
    def samples(self, timeout_s: float = 1.0) -> Iterator[Trace]:
        """Yield pieces of the recording as they arrive; end when nothing arrived for ``timeout_s``.

        The recording that ``stop`` returns contains these samples too.
        """

    @abstractmethod
    def stop(self) -> Trace:
        """End the recording and return it. Raises DeviceError if the connection broke during the recording."""

    @abstractmethod
    def close(self) -> None:
        """Release the instrument; a second call does nothing."""

    def record(self, seconds: float) -> Trace:
        """Record for ``seconds`` by the host's clock, and return the recording."""
        self.start()
        time.sleep(seconds)
        return self.stop()


class Decoder(Protocol):
    """Turns the bytes of one recording into samples."""

    def feed(self, data: bytes) -> Trace:
        """Return the samples that ``data`` completes."""
        ...

    def finish(self) -> Trace:
        """Return the samples that were held back. Call this after the last byte."""
        ...


class StreamMeter(Meter):
    """A meter that sends samples without being polled. A thread reads the bytes, so that no buffer of the system
    overflows.

    Drivers implement ``open``, ``_begin`` (send the start command, and return the decoder and the bytes that have
    already arrived) and ``_end`` (send the stop command).
    """

    #: The instrument has stopped when no byte arrived for this time after the stop command.
    quiet_s = 0.25
    #: Data that arrives later than this after the stop command is not read.
    patience_s = 10.0

    def __init__(self) -> None:
        self._transport: Transport | None = None
        self._decoder: Decoder | None = None
        self._thread: threading.Thread | None = None

    @abstractmethod
    def _begin(self) -> tuple[Decoder, bytes]: ...

    @abstractmethod
    def _end(self) -> None: ...

    @property
    def transport(self) -> Transport:
        """Return the open connection. Raises UsageError before ``open``."""
        if self._transport is None:
            raise UsageError(f"The meter {self.name} is not open.", "Call open() first.")
        return self._transport

    def start(self) -> None:
        """See :class:`Meter`."""
        if self._thread is not None:
            raise UsageError(f"The meter {self.name} is already recording.", "Call stop() first.")
        self._parts: list[Trace] = []
        self._bytes: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._error: DeviceError | None = None
        self._arrivals: list[tuple[float, int]] = []
        self._running = threading.Event()
        self._running.set()
        self._decoder, early_bytes = self._begin()
        self._started = time.monotonic()
        self._last_byte = self._started
        self._stopped_at = float("inf")
        self._received = len(early_bytes)
        if early_bytes:
            self._bytes.put(early_bytes)
        self._thread = threading.Thread(target=self._pump, daemon=True, name=f"meter {self.name}")
        self._thread.start()

    def _pump(self) -> None:
        """Read bytes from the meter into the queue until the recording ends. This runs in the reading thread."""
        try:
            while True:
                data = self.transport.read(0.05)
                if time.monotonic() - self._stopped_at > self.patience_s:
                    return
                if data:
                    self._received += len(data)
                    self._last_byte = time.monotonic()
                    self._bytes.put(data)
                    if self._running.is_set():
                        self._arrivals.append((self._last_byte, len(data)))
                elif not self._running.is_set() and time.monotonic() - self._last_byte > self.quiet_s:
                    return
        except DeviceError as error:
            self._error = error

    @property
    def bytes_per_s(self) -> float | None:
        """Return the bytes per second during the recording by the host's clock; None for a recording of less than a
        second.

        Bytes that are read late do not change the rate (:func:`steady_rate`).
        """
        if len(self._arrivals) < 8 or self._arrivals[-1][0] - self._arrivals[0][0] < 1.0:
            return None
        times, sizes = np.array(self._arrivals, dtype=np.float64).T
        return steady_rate(times - times[0], np.cumsum(sizes))

    def _decode(self, timeout_s: float) -> Trace | None:
        """Return the samples of the next bytes that have arrived; None if no byte arrived within ``timeout_s``."""
        try:
            data = self._bytes.get(timeout=timeout_s) if timeout_s else self._bytes.get_nowait()
        except queue.Empty:
            return None
        chunks = [data]
        with suppress(queue.Empty):
            while len(chunks) < 64:  # a limit, so that the caller gets samples although more bytes arrive
                chunks.append(self._bytes.get_nowait())
        assert self._decoder is not None
        part = replace(self._decoder.feed(b"".join(chunks)), started_s=self._started)
        self._parts.append(part)
        return part

    def samples(self, timeout_s: float = 1.0) -> Iterator[Trace]:
        """See :class:`Meter`."""
        while (part := self._decode(timeout_s)) is not None:
            yield part
            if self._error is not None:
                raise self._error

    def stop(self) -> Trace:
        """See :class:`Meter`."""
        if self._thread is None or self._decoder is None:
            raise UsageError(f"The meter {self.name} is not recording.", "Call start() first.")
        if self._error is None:
            self._end()
        # Bytes in transit belong to the recording, so the quiet time is measured from here.
        self._stopped_at = time.monotonic()
        self._last_byte = max(self._last_byte, self._stopped_at)
        self._running.clear()
        self._thread.join()
        self._thread = None
        while self._decode(0) is not None:
            pass
        self._parts.append(replace(self._decoder.finish(), started_s=self._started))
        if self._error is not None:
            raise self._error
        return join(self._parts)

    def close(self) -> None:
        """See :class:`Meter`."""
        if self._transport is None:
            return
        if self._thread is not None:
            with suppress(DeviceError):
                self.stop()
        self._transport.close()
        self._transport = None
