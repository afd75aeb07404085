"""Read the temperatures of Android from ``dumpsys thermalservice``, or the battery's temperature from Termux:API.

The parsers follow published outputs and have never run on a phone.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from functools import partial

from arenite.errors import DeviceError
from arenite.host.energy.base import Temperature
from arenite.host.energy.sensors.android import (
    DUMPSYS,
    TERMUX,
    CachedReading,
    finite_number,
    run_command,
    termux_battery,
)

#: Android returns NaN for getThermalHeadroom when it is called again before this time.
HEADROOM_INTERVAL_S = 1.0
#: Kelvins from headroom 0.0 to headroom 1.0, which is the threshold of SEVERE (AOSP, ThermalManagerService).
HEADROOM_SPAN_K = 30.0
SEVERE = 3
SKIN, BATTERY = 3, 2  # types of AOSP's Temperature

_TEMPERATURE = re.compile(r"Temperature\{mValue=([^,]+), mType=(-?\d+), mName=([^,]+), mStatus=(\d+)\}")
_THRESHOLD = re.compile(
    r"TemperatureThreshold\{(?:mType|type)=(-?\d+), (?:mName|name)=([^,]+), "
    r"(?:mHot|hot)ThrottlingThresholds=\[([^\]]*)\]"
)


def parse_thermal(text: str) -> tuple[list[tuple[str, int, float]], dict[str, float]]:
    """Return (name, type, °C) of each sensor, and the SEVERE threshold of the sensors that have one, by name.

    The section "Current temperatures from HAL" is preferred, because the cached values before it can be minutes old.
    """
    current = text.partition("Current temperatures from HAL")[2] or text
    body = current.split("Current cooling devices", 1)[0]
    sensors = []
    for value, kind, name, _ in _TEMPERATURE.findall(body) or _TEMPERATURE.findall(text):
        try:
            degrees = float(value)
        except ValueError:
            continue
        if -40 <= degrees <= 150 and degrees != 0:
            sensors.append((name, int(kind), degrees))
    severe = {}
    for _, name, values in _THRESHOLD.findall(text):
        steps = values.split(",")
        try:
            threshold = float(steps[SEVERE])
        except (IndexError, ValueError):
            continue
        if 20 <= threshold <= 150:
            severe[name] = threshold
    return sensors, severe


class AndroidThermometer:
    """A thermometer that reads the sensor nearest to its SEVERE threshold, at which Android certainly throttles. If no
    sensor has a threshold, it reads the sensors of skin and battery."""

    def __init__(
        self,
        path: str | None = None,
        limit_c: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = "dumpsys thermalservice"
        self._clock = clock
        self._limit = math.inf if limit_c is None else limit_c
        self._answer = CachedReading(
            lambda: parse_thermal(run_command(DUMPSYS, "thermalservice", path=path)), clock
        )
        self._headroom_read_s = -math.inf

    def read(self) -> Temperature:
        sensors, severe = self._answer.get()
        if not sensors:
            raise DeviceError(
                "dumpsys thermalservice lists no sensor: the thermal HAL is not ready.", "Try again later."
            )
        known = (
            [s for s in sensors if s[0] in severe]
            or [s for s in sensors if s[1] in (SKIN, BATTERY)]
            or sensors
        )
        name, _, degrees = min(known, key=lambda s: min(self._limit, severe.get(s[0], math.inf)) - s[2])
        return Temperature(degrees, name, severe.get(name), tuple((n, d) for n, _, d in sensors))

    def headroom(self) -> float:
        """Return the same figure as Android's getThermalHeadroom(0): 1.0 at the SEVERE threshold, 0.0 at 30 K below it;
        NaN if called again within a second."""
        now = self._clock()
        if now - self._headroom_read_s < HEADROOM_INTERVAL_S:
            return math.nan
        self._headroom_read_s = now
        sensors, severe = self._answer.get()
        shares = [headroom(d, severe[n]) for n, kind, d in sensors if kind == SKIN and n in severe]
        return max(shares, default=math.nan)


def headroom(degrees: float, severe: float) -> float:
    """Return the headroom of a skin temperature, computed as AOSP does: 1.0 at the threshold ``severe``, 0.0 at 30 K
    below it."""
    return max(0.0, (degrees - (severe - HEADROOM_SPAN_K)) / HEADROOM_SPAN_K)


class TermuxThermometer:
    """A thermometer that reads the battery's temperature. It is slow and far from the chip, but every app can read
    it."""

    def __init__(
        self,
        path: str | None = None,
        trip_c: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = "Termux battery temperature"
        self._trip = trip_c
        self._answer = CachedReading(partial(termux_battery, path), clock)

    def read(self) -> Temperature:
        degrees = finite_number(self._answer.get().get("temperature"))
        if degrees is None or not -40 <= degrees <= 100:
            raise DeviceError(f"{TERMUX} reports no temperature.", "Update Termux:API.")
        return Temperature(degrees, "battery", self._trip, (("battery", degrees),))
