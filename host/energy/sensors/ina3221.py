"""Read the INA3221 power monitors of a Jetson, with three rails per chip, from both generations of sysfs files.

hwmon (newer L4T) has ``in{N}_label``, ``in{N}_input`` in mV, ``curr{N}_input`` in mA. iio (older L4T) has
``rail_name_N``, ``in_powerN_input`` in mW. A rail named NC is not connected. ``VDD_IN`` or ``POM_5V_IN`` feeds the
whole module; the other rails are parts of it, and adding them would count them twice. The module is tested on simulated
files in these formats, never on a Jetson.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from arenite.host.energy.base import MEASURED, Power
from arenite.host.energy.power_source import DEVICE, PART, PowerSource
from arenite.host.energy.sysfs import (
    checked_watts,
    children,
    file_numbers,
    read_number,
    read_text,
    sensor_lost,
)

#: Names of the rail that feeds the whole module (Nano, TX1, TX2, Xavier NX, Orin Nano, Orin NX; Thor).
TOTAL_RAILS = ("VDD_IN", "POM_5V_IN", "5V_IN", "VIN")
#: In modules without such a rail, the sum of one of these sets of rails is the power of the module. The sets are for
#: AGX Orin (where VIN_SYS_5V0 feeds VDDQ_VDD2_1V8AO) and AGX Xavier, from NVIDIA's guides; they were not checked
#: against these documents.
SUPPLY_RAIL_SETS = (
    ("VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"),
    ("GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"),
)


@dataclass(frozen=True, slots=True)
class Rail:
    """One channel of a chip: its name, a function that returns its watts (None if the channel does not answer), and its
    folder."""

    name: str
    watts: Callable[[], float | None]
    where: Path


def _hwmon_watts(folder: Path, channel: int) -> float | None:
    millivolts = read_number(folder / f"in{channel}_input")
    milliamperes = read_number(folder / f"curr{channel}_input")
    if millivolts is None or milliamperes is None:
        return None
    return millivolts * milliamperes / 1e6


def _iio_watts(folder: Path, channel: int) -> float | None:
    milliwatts = read_number(folder / f"in_power{channel}_input")
    return None if milliwatts is None else milliwatts / 1e3


def rails(root: Path) -> list[Rail]:
    """Return every connected rail of every chip."""
    connected = []
    for folder in children(root / "sys/class/hwmon", "hwmon*"):
        if read_text(folder / "name") != "ina3221":
            continue
        for channel in file_numbers(folder, "in", "_label"):
            name = read_text(folder / f"in{channel}_label")
            # Channels 4 to 7 are the voltages over the shunts and their sum; they are not rails and have no current
            # file.
            if name and name != "NC" and (folder / f"curr{channel}_input").exists():
                connected.append(Rail(name, partial(_hwmon_watts, folder, channel), folder))
    devices = children(root / "sys/bus/iio/devices", "iio:device*")
    devices += children(root / "sys/bus/i2c/drivers/ina3221x", "*/iio:device*")
    visited = set()
    for folder in devices:
        if folder.resolve() in visited:
            continue
        visited.add(folder.resolve())
        for channel in file_numbers(folder, "rail_name_", ""):
            name = read_text(folder / f"rail_name_{channel}")
            if name and name != "NC":
                connected.append(Rail(name, partial(_iio_watts, folder, channel), folder))
    return connected


class Ina3221:
    """A power meter for rails of INA3221 chips. The power is the sum of the rails in ``summed``; the rails in ``parts``
    are reported separately."""

    def __init__(self, summed: list[Rail], parts: list[Rail]) -> None:
        self.name = "INA3221 " + "+".join(rail.name for rail in summed)
        self._summed, self._parts = summed, parts

    def read(self, busy: float) -> Power:
        """Return the power. The chip itself averages 512 samples, as NVIDIA configures it."""
        total = 0.0
        for rail in self._summed:
            watts = rail.watts()
            if watts is None:
                raise sensor_lost(f"INA3221 {rail.name}", rail.where)
            total += checked_watts(watts, f"INA3221 {rail.name}")
        rail_watts = [(rail.name, rail.watts()) for rail in self._parts]
        return Power(
            checked_watts(total, self.name),
            MEASURED,
            self.name,
            tuple((name, watts) for name, watts in rail_watts if watts is not None and watts >= 0),
        )


def find(root: Path) -> list[PowerSource]:
    """Return a source for the rail that feeds the whole module if there is one, else for the rails that together feed
    the module, else for each single rail."""
    connected = rails(root)
    if not connected:
        return []
    by_name = {rail.name: rail for rail in connected}
    summed: list[Rail] = next(([by_name[name]] for name in TOTAL_RAILS if name in by_name), [])
    if not summed:
        complete_sets = (names for names in SUPPLY_RAIL_SETS if all(name in by_name for name in names))
        summed = [by_name[name] for name in next(complete_sets, ())]
    parts = [rail for rail in connected if rail not in summed]
    where = str(connected[0].where)
    if summed:
        meter = Ina3221(summed, parts)
        note = "the whole module" if len(summed) == 1 else "the rails that together feed the module"
        return [PowerSource(meter.name, DEVICE, where, lambda: meter, note)]
    return [
        PowerSource(
            f"INA3221 {rail.name}",
            PART,
            str(rail.where),
            partial(Ina3221, [rail], [other for other in connected if other is not rail]),
            "one rail, not the whole module",
        )
        for rail in connected
    ]
