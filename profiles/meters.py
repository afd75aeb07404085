"""Read meter profiles: one TOML file per instrument in ``profiles/meters/``.

A profile describes an instrument that measures current: its ranges with the maker's error limits (a fraction of the
reading, and an offset), its samples per second, its digital inputs, its supply, its connection and its driver. Each
group of figures has its source, or the word "assumed" or "recalled". To add an instrument for whose protocol a driver
exists, add a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from arenite.errors import ProfileError
from arenite.profiles.profile_tables import ProfileTable, profile_names, profile_path, read_profile

METER_DIRECTORY = Path(__file__).parent / "meters"
CONNECTIONS = ("serial", "tcp", "i2c", "usb")


@dataclass(frozen=True)
class MeterRange:
    """A range of currents up to ``max_a`` in A. The error of a reading in A is at most ``gain`` × reading +
    ``offset_a``."""

    max_a: float
    gain: float
    offset_a: float

    def limit_a(self, amperes: float) -> float:
        """Return the maximum error in A of a reading."""
        return self.gain * abs(amperes) + self.offset_a


@dataclass(frozen=True)
class MeterProfile:
    """The data of an instrument.

    Attributes:
        driver: The name of the driver in ``arenite.host.energy.meters``.
        connection: The kind of connection, one of CONNECTIONS.
        address: A description for the user of how the instrument's address is written.
        supply_v: The lowest and the highest voltage with which the instrument can supply a board, or None if it has no
            supply.
        marks: The number of digital inputs that the driver reads.
        usb: The instrument's USB ids, as vendor:product.
        baud: The baud rate of the serial port, or None for native USB and for other connections.
    """

    name: str
    title: str
    driver: str
    connection: str
    address: str
    samples_per_s: float
    measures_voltage: bool
    supply_v: tuple[float, float] | None
    marks: int
    usb: tuple[str, ...]
    baud: int | None
    ranges: tuple[MeterRange, ...]
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)

    def range_of(self, amperes: float) -> MeterRange:
        """Return the smallest range that includes a current of ``amperes``, or the largest range if none does."""
        return next((r for r in self.ranges if abs(amperes) <= r.max_a), self.ranges[-1])

    def limit_a(self, amperes: float) -> float:
        """Return the maker's error limit in A at a current of ``amperes``, in the smallest range that includes it."""
        return self.range_of(amperes).limit_a(amperes)


class _Table(ProfileTable):
    folder = "profiles/meters"

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._data.pop(key, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise ProfileError(f"{self._location}: '{key}' must be a list of texts, not {value!r}.")
        return tuple(value)

    def ranges(self) -> tuple[MeterRange, ...]:
        rows: Any = self._data.pop("range", None)
        if not isinstance(rows, list) or not rows:
            raise ProfileError(f"{self._location} needs at least one [[range]].")
        meter_ranges = []
        for k, row in enumerate(rows, 1):
            table = type(self)(f"{self._location} [[range]] #{k}", row)
            meter_ranges.append(
                MeterRange(
                    table.number("max_a", 1e-9, 1e3),
                    table.number("gain", 0, 1),
                    table.number("offset_a", 0, 1),
                )
            )
            table.finish()
        if any(a.max_a >= b.max_a for a, b in pairwise(meter_ranges)):
            raise ProfileError(f"{self._location}: the ranges must ascend.")
        return tuple(meter_ranges)


def parse_meter(text: str, location: str) -> MeterProfile:
    """Return the instrument that the TOML text ``text`` describes. Errors begin with ``location``, the name of the
    file.

    Raises:
        ProfileError: The TOML is malformed, or a field is missing, misspelt or out of range.
    """
    top = _Table.parse(text, location)
    supply = top.table("supply") if top.has("supply") else None
    meter = MeterProfile(
        name=top.text("name"),
        title=top.text("title"),
        driver=top.text("driver"),
        connection=top.text("connection"),
        address=top.text("address"),
        samples_per_s=top.number("samples_per_s", 0.1, 1e8),
        measures_voltage=top.flag("measures_voltage"),
        supply_v=None
        if supply is None
        else (supply.number("least_v", 0, 100), supply.number("most_v", 0, 100)),
        marks=int(top.number("marks", 0, 8)),
        usb=top.texts("usb"),
        baud=int(top.number("baud", 300, 1e8)) if top.has("baud") else None,
        ranges=top.ranges(),
        sources={key: str(value) for key, value in top.table("sources").rest().items()},
    )
    for table in (supply, top):
        if table is not None:
            table.finish()
    if meter.connection not in CONNECTIONS:
        raise ProfileError(
            f"{location}: 'connection' is '{meter.connection}'.",
            f"It must be one of {', '.join(CONNECTIONS)}.",
        )
    if meter.supply_v is not None and meter.supply_v[0] >= meter.supply_v[1]:
        raise ProfileError(f"{location}: the supply's least_v must be below most_v.")
    if not {"accuracy", "rate"} <= set(meter.sources):
        raise ProfileError(
            f"{location}: [sources] must have 'accuracy' and 'rate', the sources of these figures."
        )
    return meter


@cache
def _load(path: Path) -> MeterProfile:
    return read_profile(path, "meter", parse_meter)


def meter_names() -> list[str]:
    """Return the names of all instruments with a profile, sorted."""
    return profile_names(METER_DIRECTORY)


def load_meter(name: str) -> MeterProfile:
    """Return the profile of instrument ``name``. Raises ``ProfileError`` if it does not exist or is malformed."""
    return _load(profile_path(name, "meter", METER_DIRECTORY))
