"""Read the power of hwmon chips: INA238 of Jetson Thor, ACPI power meters, shunt monitors, GPUs.

``power{N}_average``, the driver's mean, is preferred to ``power{N}_input``. Both are in µW. The kernel's
Documentation/hwmon/sysfs-interface.rst describes the formats. The module is tested on simulated files in these formats,
never on a Thor.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from arenite.host.energy.base import MEASURED, Power
from arenite.host.energy.power_source import DEVICE, PACKAGE, PART, PowerSource
from arenite.host.energy.sensors.ina3221 import TOTAL_RAILS
from arenite.host.energy.sysfs import (
    checked_watts,
    children,
    file_numbers,
    read_number,
    read_text,
    sensor_lost,
)

#: Chips whose first channel covers the whole device if the channel has no label, and chips that cover the processor
#: package.
WHOLE_DEVICE_CHIPS = ("power_meter", "ina238")  # ACPI: the supply of the machine; Thor: the module's input
PACKAGE_CHIPS = ("fam15h_power", "zenpower")


class HwmonPower:
    """A power meter that reads one channel of one chip."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self._path = path

    def read(self, busy: float) -> Power:
        microwatts = read_number(self._path)
        if microwatts is None:
            raise sensor_lost(self.name, self._path)
        return Power(checked_watts(microwatts / 1e6, self.name), MEASURED, self.name)


def find(root: Path) -> list[PowerSource]:
    """Return a power source for every channel that has a power file. An INA3221 has no power file; the module
    ``ina3221`` reads it."""
    sources = []
    for folder in children(root / "sys/class/hwmon", "hwmon*"):
        chip = read_text(folder / "name") or folder.name
        averages = set(file_numbers(folder, "power", "_average"))
        for channel in sorted(averages | set(file_numbers(folder, "power", "_input"))):
            path = folder / f"power{channel}_{'average' if channel in averages else 'input'}"
            label = read_text(folder / f"power{channel}_label") or ""
            if label == "NC":
                continue
            name = f"{chip.upper() if chip.startswith('ina') else chip} {label or f'power{channel}'}"
            if label in TOTAL_RAILS or (not label and channel == 1 and chip in WHOLE_DEVICE_CHIPS):
                scope, note = DEVICE, "the whole device"
            elif chip in PACKAGE_CHIPS:
                scope, note = PACKAGE, "the processor package"
            else:
                scope, note = PART, f"{chip} measures a part of the device"
            if read_number(path) is None:
                sources.append(PowerSource(name, scope, str(path), None, "does not contain a number"))
            else:
                sources.append(PowerSource(name, scope, str(path), partial(HwmonPower, name, path), note))
    return sources
