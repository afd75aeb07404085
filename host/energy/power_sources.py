"""Choose the source of power and temperature. The source that covers the largest part of the device is preferred."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.base import Power, PowerMeter, Temperature, Thermometer
from arenite.host.energy.power_source import ESTIMATE, PART, SCOPES, PowerSource
from arenite.host.energy.sensors import (
    android,
    android_thermal,
    battery,
    hwmon,
    ina3221,
    profile_estimate,
    rapl,
)
from arenite.host.energy.sensors.thermal_zones import ThermalZones, zones
from arenite.host.energy.throttling import read_throttling
from arenite.profiles.hosts import HostProfile, detect_host

Clock = Callable[[], float]
#: After MAX_FAILURES failed readings the next source is used. The failed source is tried again after RETRY_S seconds.
MAX_FAILURES, RETRY_S = 3, 30.0


def power_candidates(
    root: str | Path = "/",
    profile: HostProfile | None = None,
    path: str | None = None,
    clock: Clock = time.monotonic,
) -> list[PowerSource]:
    """Return every source of power, the best source first: whole device, then processor package, parts, and the
    estimate.

    Android's commands are searched in ``path``. None means the environment's PATH, or no search if ``root`` is not
    "/": tests give a folder with simulated system files.
    """
    base = Path(root)
    path = _command_path(base, path)
    all_sources = [
        *ina3221.find(base),
        *hwmon.find(base),
        *battery.find(base, clock),
        *android.find(path, clock),
        *rapl.find(base, clock),
        *profile_estimate.find(base, profile or detect_host(base)),
    ]
    return sorted(all_sources, key=lambda source: (SCOPES.index(source.scope), source.open is None))


def _command_path(base: Path, path: str | None) -> str | None:
    """Return the search path of Android's commands. This is ``path``, or an empty path if ``path`` is None and ``base``
    is a folder with simulated system files: the commands on PATH would read this device's sensors."""
    return path if path is not None or base == Path("/") else ""


class Failover:
    """A power meter that reads the first source that answers. ``name`` is the name of that source, with the reason why
    no better source is used.

    ``note`` is the reason why no better source than the first candidate is used, or "". If a source fails, its last
    power is used until MAX_FAILURES readings in a row have failed. The estimate never fails.
    """

    def __init__(self, candidates: list[PowerSource], note: str = "", clock: Clock = time.monotonic) -> None:
        self._candidates = candidates
        self._note = note
        self._clock = clock
        self._meters: dict[int, PowerMeter] = {}
        self._lost: dict[int, tuple[float, str]] = {}  # the time of the loss, and the error
        self._failures = 0
        self._last: Power | None = None
        self._current = -1
        self.notes: list[str] = []  # every change of the source, as text
        self.name = candidates[0].name if candidates else "none"
        # Open the first source now, so that the first reading covers the time since now.
        if candidates and candidates[0].open is not None:
            with suppress(DeviceError):
                self._meters[0] = candidates[0].open()

    @property
    def is_estimate(self) -> bool:
        """Whether there is no sensor, so that every power is an estimate."""
        return all(source.scope == ESTIMATE for source in self._candidates)

    def read(self, busy: float) -> Power:
        """Return the power. Raises ``DeviceError`` if no source is left, which cannot happen while the estimate is
        a candidate."""
        now = self._clock()
        for index, source in enumerate(self._candidates):
            lost = self._lost.get(index)
            if lost is not None and now - lost[0] < RETRY_S:
                continue
            try:
                if index not in self._meters:
                    if source.open is None:
                        raise DeviceError(f"{source.name}: {source.note}.", "")
                    self._meters[index] = source.open()
                power = self._meters[index].read(busy)
            except DeviceError as error:
                if index == self._current and self._last is not None and self._failures < MAX_FAILURES - 1:
                    self._failures += 1
                    return self._last
                self._lost[index] = (now, error.problem)
                # A new meter is opened for the next try: an energy counter also counts while it cannot be read, so
                # the next reading of this meter would include that time.
                self._meters.pop(index, None)
                continue
            if index != self._current:
                self._set_current(index)
            self._lost.pop(index, None)
            self._failures, self._last = 0, power
            return power
        problems = "; ".join(problem.rstrip(".") for _, problem in self._lost.values()) or "there is none"
        raise DeviceError(
            f"No power source can be read: {problems}.", "Choose the estimate with --power-source estimate."
        )

    def _set_current(self, index: int) -> None:
        """Make the candidate ``index`` the current source, and add a note about it."""
        self._current = index
        better = [problem for i, (_, problem) in self._lost.items() if i < index]
        reason = better[0].rstrip(".") if better else self._note
        self.name = self._candidates[index].name + (f" ({reason})" if reason else "")
        self.notes.append(f"power by {self.name}")


def open_power(
    root: str | Path = "/",
    profile: HostProfile | None = None,
    prefer: str | None = None,
    path: str | None = None,
    clock: Clock = time.monotonic,
) -> Failover:
    """Return a meter that continues with the next best source when a source is lost. The last source is the estimate
    of the host profile.

    Args:
        root: the folder that contains sys, proc and dev; tests pass another folder.
        profile: the host profile; None: detect it.
        prefer: part of a source's name ("rapl", "ina3221", "battery"): use only such sources, then the estimate.
        path: search path of Android's commands; None for the environment's PATH, or no search if ``root`` is not "/".
        clock: function that returns seconds; the simulated device has its own clock.

    Raises:
        UsageError: no usable source has a name with ``prefer``.
    """
    all_sources = power_candidates(root, profile, path, clock)
    if prefer is not None:
        preferred = [source for source in all_sources if prefer.lower() in source.name.lower()]
        usable = [source for source in preferred if source.open is not None]
        if not usable:
            reason = f": {preferred[0].note}" if preferred else ""
            names = ", ".join(source.name for source in all_sources if source.open is not None)
            raise UsageError(
                f"No power source '{prefer}' can be used here{reason}.", f"Give one of these names: {names}."
            )
        last = [source for source in all_sources if source.scope == ESTIMATE and source not in usable]
        return Failover(usable + last, "as requested", clock)
    blocked = [source for source in all_sources if source.open is None]
    # The power of a part cannot replace the power of the whole device. The estimate is for the whole device.
    chosen = [source for source in all_sources if source.open is not None and source.scope != PART]
    first = chosen[0]
    better = [source for source in blocked if SCOPES.index(source.scope) < SCOPES.index(first.scope)]
    note = f"{better[0].name}: {better[0].note}" if better else first.note
    return Failover(chosen, note, clock)


def open_thermometer(
    root: str | Path = "/",
    limit_c: float | None = None,
    profile: HostProfile | None = None,
    path: str | None = None,
    clock: Clock = time.monotonic,
) -> Thermometer | None:
    """Return a thermometer that reads the zone nearest to its trip point or to ``limit_c``; None if no temperature is
    available.

    ``profile`` is the host profile; None: detect it. It gives the trip point if the zones have none (Raspberry Pi).
    """
    base = Path(root)
    watched = zones(base)
    if watched:
        known = profile or detect_host(base)
        # A profile without ``models`` describes a typical laptop or desktop. Its trip point is a guess and not used.
        trip = known.thermal.trip_c if known.models and known.thermal.trips_on == "junction" else None
        return ThermalZones(watched, limit_c, trip)
    path = _command_path(base, path)
    candidates: list[Any] = [
        android_thermal.AndroidThermometer(path, limit_c, clock),
        android_thermal.TermuxThermometer(path, None, clock),
    ]
    for candidate in candidates:
        try:
            reading: Temperature = candidate.read()
        except DeviceError:
            continue
        if math.isfinite(reading.celsius):
            return cast(Thermometer, candidate)
    return None


def sources(
    root: str | Path = "/", profile: HostProfile | None = None, path: str | None = None
) -> list[dict[str, Any]]:
    """Return all sources of power and temperature, and the present throttling, for ``arenite doctor``. Each is a dict
    of JSON values with the keys kind (power, temperature or throttling), name, scope, where, usable and note."""
    base = Path(root)
    rows = [{"kind": "power"} | source.to_json() for source in power_candidates(base, profile, path)]
    for zone in zones(base):
        value = zone.read()
        trip = "no passive trip point" if zone.trip is None else f"throttles at {zone.trip:g} °C"
        rows.append(
            {
                "kind": "temperature",
                "name": zone.name,
                "scope": "zone",
                "where": str(zone.path),
                "usable": value is not None,
                "note": f"{value:.1f} °C now, {trip}" if value is not None else "does not return a number",
            }
        )
    state = read_throttling(base)
    if state.now:
        note = ", ".join(state.evidence)
        rows.append(
            {
                "kind": "throttling",
                "name": "now",
                "scope": "device",
                "where": "",
                "usable": True,
                "note": note,
            }
        )
    return rows
