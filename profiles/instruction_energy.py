"""Read the relative energy of groups of instructions, from one TOML file per kind of core in ``profiles/energy/``.

The unit of energy is the energy of a register-to-register instruction that takes one cycle. Its value in joules follows
from the current in a chip's data sheet. That current was measured while the core executed a mix of instructions
(``mix``), which takes a known number of units per cycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from arenite.errors import ProfileError
from arenite.profiles.profile_tables import ProfileTable, profile_names, read_profile

ENERGY_DIRECTORY = Path(__file__).parent / "energy"
KINDS = ("estimated", "assumed")
#: The names of two groups that every file has: the instruction whose energy is the unit, and a cycle in which the
#: pipeline waits.
PLAIN, STALL = "plain", "stall"


@dataclass(frozen=True)
class EnergyCoefficient:
    """The energy of a group of instructions in units: the value, its range from ``low`` to ``high``, its kind, and its
    source.

    The kind is "estimated" if the value follows from a published measurement or is the unit itself. Otherwise it is
    "assumed", and the source tells why the value is plausible.
    """

    value: float
    low: float
    high: float
    kind: str
    source: str


@dataclass(frozen=True)
class EnergyUnits:
    """The energy of the instructions of some cores.

    ``units`` has the energy of each group of instructions by name. ``group`` maps a timing class to its group; a timing
    class is a set of instructions that have one entry in a table of cycles (``profiles/timing/``). ``mix`` has the
    fraction of each group in the mix of instructions; the fractions add up to 1.
    """

    name: str
    cores: tuple[str, ...]
    units: Mapping[str, EnergyCoefficient]
    group: Mapping[str, str]
    mix: Mapping[str, float]
    mix_source: str

    def unit_of(self, timing_class: str) -> EnergyCoefficient:
        """Return the energy of an instruction of a timing class. Raises ``ProfileError`` for a class that the file
        does not have."""
        if timing_class not in self.group:
            raise ProfileError(f"profiles/energy/{self.name}.toml has no class '{timing_class}'.")
        return self.units[self.group[timing_class]]


class _Table(ProfileTable):
    folder = "profiles/energy"

    def names(self, key: str) -> tuple[str, ...]:
        value = self._data.pop(key, None)
        if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
            raise ProfileError(f"{self._location}: '{key}' must be a list of names, not {value!r}.")
        return tuple(value)

    def keys(self) -> list[str]:
        return list(self._data)

    @property
    def location(self) -> str:
        return self._location


def _unit(table: _Table, sources: Mapping[str, Any]) -> EnergyCoefficient:
    low, value, high = (table.number(key, 0, 100) for key in ("low", "value", "high"))
    kind, source = table.text("kind"), table.text("source")
    location = table.location
    table.finish()
    if not low <= value <= high or kind not in KINDS or source not in sources:
        raise ProfileError(
            f"{location} needs low ≤ value ≤ high, a kind of {', '.join(KINDS)}, and one of [sources]."
        )
    return EnergyCoefficient(value, low, high, kind, str(sources[source]))


def parse_energy(text: str, location: str) -> EnergyUnits:
    """Return the energy of instructions that the TOML text ``text`` describes. Errors begin with ``location``, the
    name of the file. Raises ``ProfileError``."""
    top = _Table.parse(text, location)
    sources = top.table("sources").rest()
    units, mix, classes = (top.table(key) for key in ("units", "mix", "classes"))
    coefficients = {name: _unit(units.table(name), sources) for name in units.keys()}  # noqa: SIM118
    mix_fractions = {name: mix.number(name, 0, 100) / 100 for name in mix.keys()}  # noqa: SIM118
    groups = {name: classes.names(name) for name in classes.keys()}  # noqa: SIM118
    result = EnergyUnits(
        top.text("name"),
        top.names("cores"),
        coefficients,
        {kind: name for name, kinds in groups.items() for kind in kinds},
        mix_fractions,
        str(sources.get("mix", "")),
    )
    top.finish()
    group_names = set(coefficients)
    if not {PLAIN, STALL} <= group_names or not {*mix_fractions, *groups} <= group_names - {STALL}:
        raise ProfileError(
            f"{location}: [mix] and [classes] must refer to [units], and 'plain' and 'stall' must be among them."
        )
    if abs(sum(mix_fractions.values()) - 1) > 1e-9:
        raise ProfileError(f"{location}: the [mix] must add up to 100.")
    if len(result.group) != sum(map(len, groups.values())):
        raise ProfileError(f"{location}: a class is in two groups.")
    return result


@cache
def energy_units() -> Mapping[str, EnergyUnits]:
    """Return {core: energy of its instructions} for all cores in the files."""
    files = [
        read_profile(ENERGY_DIRECTORY / f"{name}.toml", "file", parse_energy)
        for name in profile_names(ENERGY_DIRECTORY)
    ]
    return {core: units for units in files for core in units.cores}


def energy_units_of(core: str) -> EnergyUnits:
    """Return the energy of the instructions of ``core``. Raises ``ProfileError`` for a core that is in no file."""
    try:
        return energy_units()[core]
    except KeyError as error:
        raise ProfileError(f"There are no energy units for the core '{core}' in profiles/energy.") from error
