"""Read RAPL, the processor's own energy counter: ``/sys/class/powercap/intel-rapl:N`` (also on AMD).

``energy_uj`` counts µJ and wraps at ``max_energy_range_uj`` (about a minute at full load). Package domains cover the
processors; ``psys`` covers the platform, on boards that support it. Since 2020 (CVE-2020-8694) only root may read the
counters. The module is tested on simulated files only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from arenite.host.energy.base import MEASURED, Power
from arenite.host.energy.power_source import DEVICE, PACKAGE, PART, PowerSource
from arenite.host.energy.sysfs import (
    checked_watts,
    children,
    is_forbidden,
    read_number,
    read_text,
    sensor_lost,
)

#: Within this interval the last figure is repeated, because the counter is updated only every 1 ms.
MIN_INTERVAL_S = 0.02


@dataclass(slots=True)
class _Domain:
    """One RAPL counter and its last value in µJ."""

    name: str
    folder: Path
    range_uj: float
    last_uj: float

    def joules(self) -> float:
        """Return the joules since the last call. The counter may have wrapped once; if it has wrapped more often, the
        figure is too small."""
        now = read_number(self.folder / "energy_uj")
        if now is None or now < 0:
            raise sensor_lost(f"RAPL {self.name}", self.folder)
        spent = now - self.last_uj
        if spent < 0:
            spent += self.range_uj
        self.last_uj = now
        return spent / 1e6


class Rapl:
    """A power meter that adds the domains in ``folders``: all packages, or psys alone."""

    def __init__(self, folders: list[Path], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._domains = []
        for folder in folders:
            name = read_text(folder / "name") or folder.name
            start = read_number(folder / "energy_uj")
            if start is None:
                raise sensor_lost(f"RAPL {name}", folder)
            self._domains.append(
                _Domain(name, folder, read_number(folder / "max_energy_range_uj") or 2**32, start)
            )
        self.name = "RAPL " + "+".join(domain.name for domain in self._domains)
        self._last_s = clock()
        self._watts: float | None = None
        self._rails: tuple[tuple[str, float], ...] = ()

    def read(self, busy: float) -> Power:
        now = self._clock()
        elapsed = now - self._last_s
        if elapsed < MIN_INTERVAL_S and self._watts is None:
            time.sleep(MIN_INTERVAL_S)
            now = self._clock()
            elapsed = now - self._last_s
        if elapsed >= MIN_INTERVAL_S:
            self._rails = tuple((domain.name, domain.joules() / elapsed) for domain in self._domains)
            self._last_s = now
            self._watts = checked_watts(sum(watts for _, watts in self._rails), self.name)
        if self._watts is None:
            raise sensor_lost(self.name, self._domains[0].folder)
        return Power(self._watts, MEASURED, self.name, self._rails if len(self._rails) > 1 else ())


def find(root: Path, clock: Callable[[], float] = time.monotonic) -> list[PowerSource]:
    """Return sources for psys, for the sum of the packages, and (as parts) for the domains inside the packages."""
    packages, platform, sources = [], [], []
    for folder in children(root / "sys/class/powercap", "intel-rapl:*"):
        name = read_text(folder / "name")
        if name is None:
            continue
        if name.startswith("package"):
            packages.append(folder)
        elif name == "psys":
            platform.append(folder)
        elif folder.name.count(":") > 1:
            sources.append(_make_source(f"RAPL {name}", PART, [folder], clock, "a part of a package"))
    if packages:
        names = "+".join(read_text(folder / "name") or "" for folder in packages)
        sources.insert(
            0,
            _make_source(
                f"RAPL {names}", PACKAGE, packages, clock, "processors without screen, disk and supply"
            ),
        )
    for folder in platform:
        sources.insert(
            0,
            _make_source("RAPL psys", DEVICE, [folder], clock, "the platform, as the board maker defined it"),
        )
    return sources


def _make_source(
    name: str, scope: str, folders: list[Path], clock: Callable[[], float], note: str
) -> PowerSource:
    where = str(folders[0])
    if any(is_forbidden(folder / "energy_uj") for folder in folders):
        hint = f"permission denied: run as root, or once `sudo chmod a+r {folders[0] / 'energy_uj'}`"
        return PowerSource(name, scope, where, None, hint)
    counts = [read_number(folder / "energy_uj") for folder in folders]
    if any(count is None for count in counts):
        return PowerSource(name, scope, where, None, "energy_uj does not contain a number")
    if scope == DEVICE and not any(counts):
        return PowerSource(name, scope, where, None, "the counter stays at 0: this board does not support it")
    return PowerSource(name, scope, where, partial(Rapl, folders, clock), note)
