"""Define readings of power and temperature, and the meters that return them. Each power is marked as measured or
estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

MEASURED, ESTIMATED = "measured", "estimated"


@dataclass(frozen=True, slots=True)
class Power:
    """A reading of power. ``watts`` is the power of the whole device if the sensor measures it; ``rails`` are parts
    of it and are never added to it."""

    watts: float
    kind: str  # measured or estimated
    source: str  # text for reports, such as "INA3221 VDD_IN", "RAPL package-0", "estimate of profile laptop"
    rails: tuple[tuple[str, float], ...] = ()  # (name, watts) of each rail


@dataclass(frozen=True, slots=True)
class Temperature:
    """A reading of temperature. ``celsius`` is the temperature of the zone nearest to its throttling point (or to the
    user's limit); ``trip`` is the temperature at which the system throttles that zone's processor (its lowest
    passive trip point); None if unknown."""

    celsius: float
    source: str
    trip: float | None = None
    zones: tuple[tuple[str, float], ...] = ()  # (name, °C) of each zone


class PowerMeter(Protocol):
    """A meter of this computer's power."""

    name: str

    def read(self, busy: float) -> Power:
        """Return the mean power since the last call, or the present power if the sensor has no mean. ``busy`` is the
        mean number of busy cores since the last call, from which an estimate is computed.

        Raises ``DeviceError`` when the sensor no longer answers.
        """
        ...


class Thermometer(Protocol):
    """A meter of this computer's temperature. ``read`` raises ``DeviceError`` when the sensor no longer answers."""

    name: str

    def read(self) -> Temperature: ...
