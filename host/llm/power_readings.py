"""Read the power of this computer in the background while something runs."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass

from arenite.errors import DeviceError
from arenite.host.energy.base import ESTIMATED, MEASURED, Power, PowerMeter

#: Seconds between two readings.
_INTERVAL_S = 0.25


@dataclass(frozen=True)
class MeanPower:
    """The mean of several readings. ``kind`` is "measured" only if all of them were."""

    watts: float
    kind: str
    source: str


class PowerReadings:
    """Reads ``meter`` between ``start`` and ``stop``, while ``busy`` processor cores work."""

    def __init__(self, meter: PowerMeter, busy: float) -> None:
        self._meter, self._busy = meter, busy
        self._readings = list[Power]()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._readings.clear()
        self._stopped.clear()
        with suppress(DeviceError):
            self._meter.read(self._busy)  # the next reading has the mean power since this one
        self._thread = threading.Thread(target=self._read, name="power", daemon=True)
        self._thread.start()

    def stop(self) -> MeanPower | None:
        """Return the mean since ``start``, or None if no sensor answered or ``start`` was not called."""
        if self._thread is None:
            return None
        self._stopped.set()
        self._thread.join()
        self._thread = None
        if not self._readings:
            return None
        is_measured = all(reading.kind == MEASURED for reading in self._readings)
        return MeanPower(
            sum(reading.watts for reading in self._readings) / len(self._readings),
            MEASURED if is_measured else ESTIMATED,
            self._readings[-1].source,
        )

    def _read(self) -> None:
        ended = False
        while not ended:  # a short run has one reading, at its end
            ended = self._stopped.wait(_INTERVAL_S)
            with suppress(DeviceError):
                self._readings.append(self._meter.read(self._busy))
