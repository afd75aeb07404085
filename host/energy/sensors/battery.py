"""Read batteries in ``/sys/class/power_supply``. While a device runs on its batteries, their output is the power of the
whole device.

The units are ``voltage_now`` µV, ``current_now`` µA, ``power_now`` µW, ``charge_now`` µAh, ``energy_now`` µWh
(Documentation/ABI/testing/sysfs-class-power). The sign of the current differs by vendor, so only ``status`` shows the
direction; some phones report mA. If a battery reports neither power nor current, a coarse mean power is computed from
the last drop of its charge or energy. The module is tested on simulated files in these formats, never on a battery.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from arenite.errors import DeviceError
from arenite.host.energy.base import MEASURED, Power
from arenite.host.energy.power_source import DEVICE, PowerSource
from arenite.host.energy.sysfs import checked_watts, children, read_number, read_text, sensor_lost

#: A device that runs the camera loop draws more than 20 mA, so a smaller value in "µA" is in fact in mA.
MIN_MICROAMPERES = 20_000


def amperes(current: float) -> float:
    """Return the amperes, without sign, from a value of ``current_now`` in µA or, on some phones, in mA."""
    size = abs(current)
    return size / 1e6 if size >= MIN_MICROAMPERES else size / 1e3


class Battery:
    """A power meter that adds the output of all batteries of the device."""

    def __init__(self, folders: list[Path], clock: Callable[[], float] = time.monotonic) -> None:
        self.name = "battery " + "+".join(folder.name for folder in folders)
        self._folders = folders
        self._clock = clock
        self._last_changes: dict[Path, tuple[float, float]] = {}  # (remaining joules, time in seconds)
        # Mean power between the last two changes of the remaining energy.
        self._mean_watts: dict[Path, float] = {}

    def read(self, busy: float) -> Power:
        """Return the present power, or the mean power over the last drop of the charge. Raises ``DeviceError`` if no
        battery is discharging, because the figure would not include the power from the charger."""
        parts = []
        for folder in self._folders:
            status = read_text(folder / "status")
            if status is None:
                raise sensor_lost(f"battery {folder.name}", folder)
            if status == "Discharging":
                parts.append((folder.name, checked_watts(self._watts(folder), f"battery {folder.name}")))
        if not parts:
            raise DeviceError(
                f"{self.name} is not discharging.",
                "Unplug the charger to measure the power from the battery.",
            )
        total = checked_watts(sum(watts for _, watts in parts), self.name)
        return Power(total, MEASURED, self.name, tuple(parts) if len(parts) > 1 else ())

    def _watts(self, folder: Path) -> float:
        """Return the power of one battery in watts. Raises ``DeviceError`` if it is not known yet."""
        direct = present_watts(folder)
        if direct:
            return direct
        left = joules_left(folder)
        if left is None:
            raise sensor_lost(f"battery {folder.name}", folder)
        at = self._clock()
        last_change = self._last_changes.get(folder)
        if last_change is None or left > last_change[0]:
            self._last_changes[folder] = (left, at)
        elif left < last_change[0] and at > last_change[1]:
            self._mean_watts[folder] = (last_change[0] - left) / (at - last_change[1])
            self._last_changes[folder] = (left, at)
        if folder not in self._mean_watts:
            raise DeviceError(
                f"battery {folder.name} reports only its charge, and that has not changed yet.",
                "Wait a few minutes until the battery reports a lower charge.",
            )
        return self._mean_watts[folder]


def present_watts(folder: Path) -> float | None:
    """Return the present watts from ``power_now``, or volts times amperes. Returns None or 0 if the battery reports
    neither."""
    power = read_number(folder / "power_now")
    if power:
        return abs(power) / 1e6
    volts, current = read_number(folder / "voltage_now"), read_number(folder / "current_now")
    if volts is None or current is None:
        return None
    return volts / 1e6 * amperes(current)


def joules_left(folder: Path) -> float | None:
    """Return the remaining joules from ``energy_now``, or from ``charge_now`` at the present voltage; None if the
    battery reports neither."""
    energy = read_number(folder / "energy_now")
    if energy is not None:
        return energy * 3600e-6
    charge, volts = read_number(folder / "charge_now"), read_number(folder / "voltage_now")
    return None if charge is None or volts is None else charge * 3600e-6 * volts / 1e6


def find(root: Path, clock: Callable[[], float] = time.monotonic) -> list[PowerSource]:
    """Return one power source for all of the device's own batteries, or an empty list if it has none. Batteries with
    the ``scope`` Device are left out: they belong to a mouse or a pen."""
    folders = [
        folder
        for folder in children(root / "sys/class/power_supply", "*")
        if read_text(folder / "type") == "Battery" and read_text(folder / "scope") != "Device"
    ]
    if not folders:
        return []
    name = "battery " + "+".join(folder.name for folder in folders)
    where = str(folders[0])
    states = [read_text(folder / "status") for folder in folders]
    if "Discharging" not in states:
        state = (states[0] or "unknown").lower()
        return [
            PowerSource(
                name,
                DEVICE,
                where,
                None,
                f"state is '{state}'; the device's power can be read only while the battery is discharging",
            )
        ]
    if all(present_watts(folder) is None and joules_left(folder) is None for folder in folders):
        return [PowerSource(name, DEVICE, where, None, "reports no power, current, energy or charge")]
    return [
        PowerSource(
            name, DEVICE, where, partial(Battery, folders, clock), "the whole device, from the battery"
        )
    ]
