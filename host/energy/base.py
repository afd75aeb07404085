"""Power and temperature of this computer; each figure says whether it is measured, estimated or assumed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

MEASURED, ESTIMATED = "measured", "estimated"


@dataclass(frozen=True, slots=True)
class Power:
    """``watts`` of the whole device where the sensor gives that; ``rails`` its parts, never summed with the
    whole."""

    watts: float
    kind: str  # measured or estimated
    source: str  # for people: "INA3221 VDD_IN", "RAPL package-0", "estimate of profile laptop"
    rails: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Temperature:
    """``celsius`` of the zone nearest to its throttling point (or to the user's limit); ``trip``: that zone's
    lowest passive trip point, None when unknown."""

    celsius: float
    source: str
    trip: float | None = None
    zones: tuple[tuple[str, float], ...] = ()


class PowerMeter(Protocol):
    name: str

    def read(self, busy: float) -> Power:
        """Mean power since the last call, or now. ``busy``: busy cores over that time, for estimates.

        Raises ``DeviceError`` when the sensor is gone.
        """
        ...


class Thermometer(Protocol):
    name: str

    def read(self) -> Temperature: ...
