"""The sensor files of a Jetson Nano whose power does not change."""

from __future__ import annotations

from pathlib import Path

from arenite.host.energy.simulated_sysfs import SimulatedSysfs
from arenite.profiles.hosts import load_host


def sensors(root: Path, watts: float) -> None:
    """Write the files under ``root``. The chip has 50 °C."""
    SimulatedSysfs(load_host("jetson_nano"), root).write(watts, 50.0, 45.0, state=0, cap=1.0)
