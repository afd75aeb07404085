"""Open the sensors and the levers that keep the budget of a language model."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from arenite.errors import AreniteError
from arenite.host.energy.base import PowerMeter, Thermometer
from arenite.host.energy.power_sources import open_power, open_thermometer
from arenite.host.governor.levers import CpufreqLever, DevfreqLever
from arenite.host.llm.budget.options import BudgetOptions
from arenite.profiles.hosts import HostProfile, detect_host, load_host


@dataclass(frozen=True)
class Instruments:
    """``frequency``: the lever of the clock, or None. ``notes``: a sentence for each instrument that is missing."""

    profile: HostProfile
    meter: PowerMeter
    thermometer: Thermometer | None
    frequency: CpufreqLever | DevfreqLever | None
    notes: tuple[str, ...]


def open_instruments(options: BudgetOptions, clock: Callable[[], float] = time.monotonic) -> Instruments:
    """Open the instruments of ``options``. ``clock`` returns seconds. Raises ``UsageError`` for a host profile or a
    power source that does not exist."""
    profile = load_host(options.host) if options.host is not None else detect_host(options.root)
    meter = open_power(options.root, profile, options.power_source, clock=clock)
    thermometer = open_thermometer(options.root, options.limits.temperature_c, profile, clock=clock)
    notes = list[str]()
    if options.limits.temperature_c is not None and thermometer is None:
        notes.append("This computer reports no temperature, so the temperature limit cannot be kept.")
    frequency = _open_frequency(options, profile, notes) if options.sets_frequency else None
    return Instruments(profile, meter, thermometer, frequency, tuple(notes))


def _open_frequency(
    options: BudgetOptions, profile: HostProfile, notes: list[str]
) -> CpufreqLever | DevfreqLever | None:
    try:
        if profile.compute.processor == "gpu":
            return DevfreqLever(options.root)
        return CpufreqLever(options.root, profile.voltage_floor)
    except AreniteError as error:
        notes.append(f"The frequency cannot be capped: {error}")
        return None
