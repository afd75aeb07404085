"""Open the sensors and the levers that keep the budget of a language model."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from arenite.errors import AreniteError, UsageError
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
    """Open the instruments of ``options``. ``clock`` returns seconds.

    Raises ``UsageError`` for a host profile or a power source that does not exist, and for a power that the computer is
    estimated to need at rest if no sensor measures it.
    """
    profile = load_host(options.host) if options.host is not None else detect_host(options.root)
    meter = open_power(options.root, profile, options.power_source, clock=clock)
    thermometer = open_thermometer(options.root, options.limits.temperature_c, profile, clock=clock)
    notes = list[str]()
    limit_w = options.limits.power_w
    if limit_w is not None and meter.is_estimate:
        if limit_w <= profile.idle_w:
            raise UsageError(
                f"No sensor measures the power, and the profile {profile.name} estimates {profile.idle_w:g} W at rest, "
                f"so pauses cannot keep {limit_w:g} W.",
                "Give a larger power, or the profile of this computer with --host.",
            )
        notes.append(
            f"No sensor measures the power: pauses follow the estimate of the profile {profile.name}, "
            f"{profile.idle_w:g} W at rest."
        )
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
