"""Define the common part of drivers that poll their meter for each sample."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meters.base import Meter
from arenite.host.energy.meters.trace import Trace, empty


class PolledMeter(Meter):
    """A meter that is polled for each sample. A thread polls as fast as the meter answers, at most ``rate_hz``.

    Drivers implement ``read_sample``, which returns the present amperes and volts. Times are from the host's clock. A
    late answer has a late time in ``time_s``, so no sample is counted as lost.
    """

    def __init__(self, rate_hz: float, gain_error: float | None = None) -> None:
        self._rate = rate_hz
        self._gain_error = gain_error
        self._thread: threading.Thread | None = None

    @abstractmethod
    def read_sample(self) -> tuple[float, float]: ...

    def start(self) -> None:
        """See :class:`Meter`."""
        if self._thread is not None:
            raise UsageError(f"The meter {self.name} is already recording.", "Call stop() first.")
        self._rows: list[tuple[float, float, float]] = []
        self._yielded = 0
        self._error: Exception | None = None
        self._stopped = threading.Event()
        self._started = time.monotonic()
        self._thread = threading.Thread(target=self._poll, daemon=True, name=f"meter {self.name}")
        self._thread.start()

    def _poll(self) -> None:
        due = self._started
        while not self._stopped.is_set():
            before = time.monotonic()
            try:
                current, volts = self.read_sample()
            except DeviceError as error:
                self._error = error
                return
            middle = (before + time.monotonic()) / 2 - self._started
            if not self._rows or middle > self._rows[-1][0]:
                self._rows.append((middle, current, volts))
            due = max(due + 1 / self._rate, before)
            self._stopped.wait(max(0.0, due - time.monotonic()))

    def _trace(self, rows: list[tuple[float, float, float]]) -> Trace:
        if not rows:
            return replace(empty(self._rate, 0.0), clock="host", started_s=self._started)
        times, currents, volts = np.array(rows, dtype=np.float64).T
        rate = (len(rows) - 1) / (times[-1] - times[0]) if len(rows) > 1 else self._rate
        return Trace(
            times,
            currents,
            volts,
            float(rate),
            clock="host",
            started_s=self._started,
            gain_error=self._gain_error,
            meta={"meter": self.name},
        )

    def samples(self, timeout_s: float = 1.0) -> Iterator[Trace]:
        """See :class:`Meter`."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            rows = self._rows[self._yielded :]
            if rows:
                self._yielded += len(rows)
                yield self._trace(rows)
                end = time.monotonic() + timeout_s
            elif self._error is not None:
                raise self._error
            else:
                time.sleep(0.01)

    def stop(self) -> Trace:
        """See :class:`Meter`."""
        if self._thread is None:
            raise UsageError(f"The meter {self.name} is not recording.", "Call start() first.")
        self._stopped.set()
        self._thread.join()
        self._thread = None
        if self._error is not None:
            raise self._error
        return self._trace(self._rows)

    def close(self) -> None:
        """See :class:`Meter`."""
        if self._thread is not None:
            self._stopped.set()
            self._thread.join()
            self._thread = None
