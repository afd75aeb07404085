"""Estimate power without a sensor, from the host profile: idle power plus the power of the busy cores at their
frequency."""

from __future__ import annotations

from pathlib import Path

from arenite.host.energy.base import ESTIMATED, Power
from arenite.host.energy.power_source import ESTIMATE, PowerSource
from arenite.host.energy.sysfs import children, read_number
from arenite.profiles.hosts import HostProfile


def frequency_ratio(root: Path) -> float:
    """Return the mean ratio of the cores' frequencies to their highest frequencies; 1.0 if cpufreq does not report
    them."""
    ratios = []
    for folder in children(root / "sys/devices/system/cpu", "cpu[0-9]*/cpufreq"):
        now, highest = read_number(folder / "scaling_cur_freq"), read_number(folder / "cpuinfo_max_freq")
        if now is not None and highest is not None and 0 < now <= highest * 1.01:
            ratios.append(min(1.0, now / highest))
    return sum(ratios) / len(ratios) if ratios else 1.0


class ProfileEstimate:
    """A power meter that computes the idle power plus the number of busy cores times the power of a core at the present
    frequency. It leaves out the power of an accelerator, which is not known."""

    def __init__(self, profile: HostProfile, root: Path) -> None:
        self.name = f"estimate of profile {profile.name}"
        self._profile, self._root = profile, root

    def read(self, busy: float) -> Power:
        # If ``busy`` is NaN, no core counts as busy.
        cores = min(max(busy, 0.0), float(self._profile.cores)) if busy == busy else 0.0
        watts = self._profile.idle_w + cores * self._profile.core_watts(frequency_ratio(self._root))
        return Power(watts, ESTIMATED, self.name)


def find(root: Path, profile: HostProfile) -> list[PowerSource]:
    """Return the estimate, which is always available."""
    meter = ProfileEstimate(profile, root)
    return [
        PowerSource(meter.name, ESTIMATE, f"profiles/hosts/{profile.name}.toml", lambda: meter, "no sensor")
    ]
