"""Read thermal zones: ``/sys/class/thermal/thermal_zone*/{type,temp,trip_point_*_{temp,type}}``, else hwmon chips.

A zone throttles if it has a passive trip point (Documentation/driver-api/thermal/sysfs-api.rst). If there are several
zones, the zone nearest to its bound is used. The bound is its trip point, or the user's limit if that is lower: a skin
sensor at 44 °C with a bound of 45 °C matters more than a chip at 70 °C with a bound of 95 °C. The module is tested on
simulated files in the kernel's formats, never on a device that throttles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

from arenite.errors import DeviceError
from arenite.host.energy.base import Temperature
from arenite.host.energy.sysfs import children, file_numbers, read_number, read_text

#: Zones without a real sensor: Jetson Nano's PMIC-Die always reads 100 °C, and the fan's estimate is not measured.
IGNORED_ZONES = ("PMIC-Die", "pmic", "thermal-fan-est", "Tboard_tegra")
#: Parts of the names of zones that are sensors in the chip, for computers without passive trip points.
CHIP_ZONES = ("cpu", "soc", "x86_pkg_temp", "tj", "gpu", "package", "tctl", "tdie")
#: hwmon chips of processors, for computers without usable thermal zones.
PROCESSOR_CHIPS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "scmi_sensors")
#: Parts of the names of surface sensors. If the device has one, a user's limit applies to it and not to the chip.
SKIN_ZONES = ("skin", "shell", "quiet-therm", "case")
#: Another zone is used only if it is this many kelvins nearer to its bound, because the thermal model follows one zone.
HYSTERESIS_K = 3.0


def celsius(raw: float) -> float | None:
    """Return a raw sysfs value in °C; None if it is not plausible. The value is in millidegrees, as the kernel defines
    it, or in degrees, as some vendors write it."""
    value = raw if abs(raw) < 200 else raw / 1000
    return value if -40 <= value <= 150 and raw != 0 else None


@dataclass(frozen=True, slots=True)
class Zone:
    """One sensor. ``trip`` is its lowest passive trip point in °C, and ``path`` the file of its temperature."""

    name: str
    path: Path
    trip: float | None

    def read(self) -> float | None:
        raw = read_number(self.path)
        return None if raw is None else celsius(raw)


def passive_trip(folder: Path) -> float | None:
    """Return the lowest plausible passive trip point. Some vendors leave unused trip points at 0 or far above any
    temperature."""
    trips = []
    for index in file_numbers(folder, "trip_point_", "_type"):
        if (read_text(folder / f"trip_point_{index}_type") or "").lower() == "passive":
            raw = read_number(folder / f"trip_point_{index}_temp")
            value = None if raw is None else celsius(raw)
            if value is not None and 30 <= value <= 125:
                trips.append(value)
    return min(trips, default=None)


def zones(root: Path) -> list[Zone]:
    """Return the zones to watch: the zones that throttle; if there are none, the zones of the chip, then the
    processors' sensors in hwmon, then all zones."""
    usable_zones = []
    for folder in children(root / "sys/class/thermal", "thermal_zone*"):
        name = read_text(folder / "type") or folder.name
        zone = Zone(name, folder / "temp", passive_trip(folder))
        if name not in IGNORED_ZONES and zone.read() is not None:
            usable_zones.append(zone)
    throttling = [zone for zone in usable_zones if zone.trip is not None]
    chip = [zone for zone in usable_zones if any(part in zone.name.lower() for part in CHIP_ZONES)]
    return throttling or chip or _hwmon_zones(root) or usable_zones


def _hwmon_zones(root: Path) -> list[Zone]:
    sensors = []
    for folder in children(root / "sys/class/hwmon", "hwmon*"):
        chip = read_text(folder / "name") or ""
        if chip not in PROCESSOR_CHIPS:
            continue
        for channel in file_numbers(folder, "temp", "_input"):
            label = read_text(folder / f"temp{channel}_label") or f"temp{channel}"
            # coretemp's critical temperature is TjMax, where the processor itself throttles.
            critical = read_number(folder / f"temp{channel}_crit") if chip == "coretemp" else None
            trip = None if critical is None else celsius(critical)
            zone = Zone(f"{chip} {label}", folder / f"temp{channel}_input", trip)
            if zone.read() is not None:
                sensors.append(zone)
    return sensors


class ThermalZones:
    """A thermometer of several zones. ``limit_c`` is the user's limit. ``trip_c`` is the trip point in the host
    profile, which is used for zones without a trip point."""

    def __init__(
        self, watched: list[Zone], limit_c: float | None = None, trip_c: float | None = None
    ) -> None:
        if limit_c is not None:
            watched = [
                zone for zone in watched if any(part in zone.name.lower() for part in SKIN_ZONES)
            ] or watched
        self._zones = [zone if zone.trip is not None else replace(zone, trip=trip_c) for zone in watched]
        self._limit = math.inf if limit_c is None else limit_c
        self._current: Zone | None = None
        self.name = "thermal zones " + ", ".join(zone.name for zone in watched[:4])

    def read(self) -> Temperature:
        """Return the temperature of the zone nearest to its bound. Raises ``DeviceError`` when no zone answers any
        more."""
        readings = [(zone, zone.read()) for zone in self._zones]
        values = [(zone, value) for zone, value in readings if value is not None]
        if not values:
            raise DeviceError(
                f"No thermal zone answers any more ({self.name}).", "Check that the driver is still loaded."
            )
        if all(zone.trip is None for zone, _ in values):
            zone, value = max(values, key=lambda pair: pair[1])
        else:
            zone, value = min(values, key=lambda pair: self._headroom(*pair))
            for current_zone, current_value in values:
                if (
                    current_zone is self._current
                    and self._headroom(current_zone, current_value)
                    < self._headroom(zone, value) + HYSTERESIS_K
                ):
                    zone, value = current_zone, current_value
        self._current = zone
        return Temperature(value, zone.name, zone.trip, tuple((z.name, v) for z, v in values))

    def _headroom(self, zone: Zone, value: float) -> float:
        bound = min(self._limit, math.inf if zone.trip is None else zone.trip)
        return bound - value
