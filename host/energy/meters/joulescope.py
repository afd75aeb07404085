"""Driver of Joulescope JS110 and JS220, through the manufacturer's package (extra ``joulescope``). It records current
and voltage, but no marks.

This driver has never run on a Joulescope. The calls follow version 1.x of the package. They are tested up to the
package's search for a device, which finds no device.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meters.base import Meter
from arenite.host.energy.meters.trace import Trace, empty, join

FIELDS = ["current", "voltage"]


class _Collector:
    """Collects the samples: the package calls ``stream_notify`` with every block. Samples that the package marks as
    missing (NaN) count as lost."""

    driver_active = True

    def __init__(self, rate_hz: float) -> None:
        self.parts: list[Trace] = []
        self._rate = rate_hz
        self._first: int | None = None
        self._next = 0
        self._lock = threading.Lock()

    def stream_notify(self, buffer: Any) -> bool:
        """Add the samples of ``buffer``. Return False, so that the stream continues."""
        with self._lock:
            start, stop = buffer.sample_id_range
            if self._first is None:
                self._first = self._next = start
            # Samples that the buffer has already overwritten are lost.
            skipped = max(0, start - self._next)
            start = max(start, self._next)
            if stop <= start:
                return False
            signals = buffer.samples_get(start, stop, fields=FIELDS)["signals"]
            current, volts = (np.asarray(signals[name]["value"], dtype=np.float64) for name in FIELDS)
            valid = np.isfinite(current) & np.isfinite(volts)
            self.parts.append(
                Trace(
                    (start - self._first + np.flatnonzero(valid)) / self._rate,
                    current[valid],
                    volts[valid],
                    self._rate,
                    lost_samples=skipped + int(np.count_nonzero(~valid)),
                )
            )
            self._next = stop
            return False


class JoulescopeMeter(Meter):
    """The only connected Joulescope. The board has its own supply, whose voltage the Joulescope measures."""

    name = "joulescope"

    def __init__(self, where: str = "", rate_hz: int = 100_000) -> None:
        del where  # the package finds the device
        self._rate = rate_hz
        self._device: Any = None
        self._collector: _Collector | None = None

    def open(self) -> None:
        """Find the Joulescope and set its rate. Raises UsageError if the package is missing, and DeviceError unless
        exactly one Joulescope is connected."""
        try:
            # The package is not in every installation, because it is a megabyte of native code.
            # It is imported by name, because type checkers would resolve `import joulescope` to this file.
            joulescope = importlib.import_module("joulescope")
        except ImportError as error:
            raise UsageError(
                "A Joulescope needs the manufacturer's package.", "pip install 'arenite[joulescope]'"
            ) from error
        try:
            self._device = joulescope.scan_require_one(config="auto")
            self._device.open()
            self._device.parameter_set("sampling_frequency", self._rate)
        except Exception as error:
            self._device = None
            raise DeviceError(
                f"The Joulescope cannot be used: {error}.",
                "Plug in exactly one, with its udev rule, and close its own program.",
            ) from error

    def start(self) -> None:
        """See :class:`Meter`."""
        if self._device is None or self._collector is not None:
            raise UsageError(
                "The Joulescope is not open, or is already recording.", "Call open() once, then start()."
            )
        self._collector = _Collector(self._rate)
        self._yielded = 0
        self._started = time.monotonic()
        self._device.stream_process_register(self._collector)
        self._device.start()

    def samples(self, timeout_s: float = 1.0) -> Iterator[Trace]:
        """See :class:`Meter`."""
        end = time.monotonic() + timeout_s
        while self._collector is not None and time.monotonic() < end:
            if self._yielded < len(self._collector.parts):
                self._yielded += 1
                yield self._collector.parts[self._yielded - 1]
                end = time.monotonic() + timeout_s
            else:
                time.sleep(0.01)

    def stop(self) -> Trace:
        """See :class:`Meter`."""
        if self._collector is None:
            raise UsageError("The Joulescope is not recording.", "Call start() first.")
        self._device.stop()
        self._device.stream_process_unregister(self._collector)
        parts, self._collector = self._collector.parts, None
        trace = join(parts) if parts else empty(self._rate, 0.0)
        return replace(trace, started_s=self._started, meta={"meter": self.name, "device": str(self._device)})

    def close(self) -> None:
        """See :class:`Meter`."""
        if self._device is None:
            return
        if self._collector is not None:
            self.stop()
        self._device.close()
        self._device = None
