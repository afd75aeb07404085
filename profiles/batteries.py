"""Read battery profiles: one TOML file per battery in ``profiles/batteries/``.

A profile describes a battery (a cell, or the cells of a holder in series): its charge at a rated current down to a
cut-off voltage, the reduction at other currents and temperatures, its open-circuit voltage and internal resistance over
the depth of discharge, its current limits, and its self-discharge. Each figure has its source, or the word "assumed".
To add a battery, add a file.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

from arenite.errors import ProfileError
from arenite.profiles.profile_tables import ProfileTable, profile_names, profile_path, read_profile

BATTERY_DIRECTORY = Path(__file__).parent / "batteries"

#: The temperature in °C for which the profile states the self-discharge. Self-discharge doubles every ten kelvin
#: (assumed after Arrhenius).
REFERENCE_C = 20.0


@dataclass(frozen=True)
class Curve:
    """A curve through points with ascending ``x``: linear between the points, and constant before the first and after
    the last point."""

    x: tuple[float, ...]
    y: tuple[float, ...]

    def at(self, x: float) -> float:
        """Return the value of the curve at ``x``."""
        if x <= self.x[0]:
            return self.y[0]
        if x >= self.x[-1]:
            return self.y[-1]
        i = bisect_right(self.x, x)
        fraction = (x - self.x[i - 1]) / (self.x[i] - self.x[i - 1])
        return self.y[i - 1] + fraction * (self.y[i] - self.y[i - 1])


@dataclass(frozen=True)
class Battery:
    """The data of a battery. Charges, currents, voltages and resistances are those of the complete battery at 20 °C.
    The ends of field names are units (mAh, mA, V)."""

    name: str
    title: str
    chemistry: str
    rechargeable: bool
    capacity_mah: float  # charge at a current of rated_ma, down to a voltage of cutoff_v
    rated_ma: float
    nominal_v: float
    cutoff_v: float
    continuous_ma: float
    pulse_ma: float
    self_discharge_per_year: float  # fraction of the remaining charge
    shelf_years: float
    voltage: Curve  # open-circuit voltage in V over depth of discharge, from 0 to 1
    resistance: Curve  # in ohms, over depth of discharge
    rate: Curve | None  # fraction of capacity_mah, over log10 of the current in mA; None if peukert is given
    peukert: float | None  # the exponent k of Peukert's law; None if rate is given
    temperature_capacity: Curve  # factor for the capacity, over temperature in °C
    temperature_resistance: Curve  # factor for the resistance, over temperature in °C
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def coldest_c(self) -> float:
        """The lowest temperature in °C for which the profile has figures."""
        return self.temperature_capacity.x[0]

    @property
    def hottest_c(self) -> float:
        """The highest temperature in °C for which the profile has figures."""
        return self.temperature_capacity.x[-1]

    def capacity_as(self, current_a: float, celsius: float) -> float:
        """Return the charge in A·s that the battery delivers at a current of ``current_a`` in A and a temperature in
        °C.

        If the profile has a table ``rate``, the result is linear in the logarithm of the current between the points
        of the table, and constant outside. Otherwise Peukert's law C = C_r·(I_r / I)^(k − 1) holds above the rated
        current I_r, with the rated capacity C_r (W. Peukert, Elektrotechnische Zeitschrift 20, 1897).
        """
        ma = max(current_a * 1000, 1e-9)
        if self.rate is not None:
            fraction = self.rate.at(math.log10(ma))
        else:
            fraction = min(1.0, (self.rated_ma / ma) ** ((self.peukert or 1.0) - 1))
        return self.capacity_mah * 3.6 * fraction * self.temperature_capacity.at(celsius)

    def ohm(self, depth: float, celsius: float) -> float:
        """Return the internal resistance in ohms at a depth of discharge from 0 to 1 and a temperature in °C."""
        return self.resistance.at(depth) * self.temperature_resistance.at(celsius)

    def loss_per_s(self, celsius: float) -> float:
        """Return the fraction of the remaining charge that self-discharge loses per second."""
        yearly = -math.log1p(-self.self_discharge_per_year)
        return yearly * 2 ** ((celsius - REFERENCE_C) / 10) / (365.25 * 86400)


class _Table(ProfileTable):
    folder = "profiles/batteries"

    def values(self, key: str, minimum: float, maximum: float) -> tuple[float, ...]:
        """Return the list ``key`` of two or more numbers in a range."""
        value = self._data.pop(key, None)
        if (
            not isinstance(value, list)
            or len(value) < 2
            or not all(
                isinstance(v, (int, float)) and not isinstance(v, bool) and minimum <= v <= maximum
                for v in value
            )
        ):
            raise ProfileError(
                f"{self._location}: '{key}' must be two or more numbers from {minimum:g} to {maximum:g}, not {value!r}."
            )
        return tuple(map(float, value))

    def curve(self, x: tuple[float, ...], key: str, minimum: float, maximum: float) -> Curve:
        """Return the curve with the points ``x`` and the list ``key`` of values in a range."""
        y = self.values(key, minimum, maximum)
        if len(x) != len(y) or any(a >= b for a, b in pairwise(x)):
            raise ProfileError(f"{self._location}: '{key}' needs one value for each of the ascending points.")
        return Curve(x, y)


def parse_battery(text: str, location: str) -> Battery:
    """Return the battery that the TOML text ``text`` describes. Errors begin with ``location``, the name of the file.

    Raises:
        ProfileError: The TOML is malformed, or a field is missing, misspelt or out of range.
    """
    top = _Table.parse(text, location)
    volts, ohms, rate, temperature = (
        top.table(key) for key in ("voltage", "resistance", "rate", "temperature")
    )
    rates: Curve | None = None
    peukert: float | None = None
    if rate.has("peukert"):
        peukert = rate.number("peukert", 1.0, 1.6)
    else:
        currents = rate.values("ma", 1e-6, 1e6)
        rates = rate.curve(tuple(map(math.log10, currents)), "fraction", 0.01, 1.5)
    degrees = temperature.values("c", -100, 150)
    battery = Battery(
        name=top.text("name"),
        title=top.text("title"),
        chemistry=top.text("chemistry"),
        rechargeable=top.flag("rechargeable"),
        capacity_mah=top.number("capacity_mah", 0.1, 1e6),
        rated_ma=top.number("rated_ma", 1e-4, 1e6),
        nominal_v=top.number("nominal_v", 0.5, 100),
        cutoff_v=top.number("cutoff_v", 0.3, 100),
        continuous_ma=top.number("continuous_ma", 0.01, 1e6),
        pulse_ma=top.number("pulse_ma", 0.01, 1e6),
        self_discharge_per_year=top.number("self_discharge_per_year", 0, 0.95),
        shelf_years=top.number("shelf_years", 0.1, 50),
        voltage=volts.curve(volts.values("depth", 0, 1), "open_v", 0.3, 100),
        resistance=ohms.curve(ohms.values("depth", 0, 1), "ohm", 0, 1e4),
        rate=rates,
        peukert=peukert,
        temperature_capacity=temperature.curve(degrees, "capacity", 0.01, 1.5),
        temperature_resistance=temperature.curve(degrees, "resistance", 0.1, 100),
        sources={key: str(value) for key, value in top.table("sources").rest().items()},
    )
    for table in (volts, ohms, rate, temperature, top):
        table.finish()
    is_falling = all(a >= b for a, b in pairwise(battery.voltage.y))
    if not is_falling or battery.voltage.y[-1] < battery.cutoff_v:
        raise ProfileError(f"{location}: open_v must fall with the depth, and stay at or above cutoff_v.")
    return battery


@cache
def _load(path: Path) -> Battery:
    return read_profile(path, "battery", parse_battery)


def battery_names() -> list[str]:
    """Return the names of all batteries with a profile, sorted."""
    return profile_names(BATTERY_DIRECTORY)


def load_battery(name: str) -> Battery:
    """Return the profile of battery ``name``. Raises ``ProfileError`` if it does not exist or is malformed."""
    return _load(profile_path(name, "battery", BATTERY_DIRECTORY))
