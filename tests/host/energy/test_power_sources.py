"""Tests of the choice of a power source, and of its replacement when a sensor is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.integrate import EnergyMeter
from arenite.host.energy.power_sources import RETRY_S, open_power, sources
from arenite.profiles.hosts import load_host
from tests.host.energy.sysfs_trees import Clock, battery_tree, hwmon_ina3221, put, rapl_tree

LAPTOP = load_host("laptop")


def test_device_sensors_precede_processor_sensors_and_estimates(tmp_path: Path) -> None:
    assert open_power(tmp_path, LAPTOP).read(0.0).kind == "estimated"
    rapl_tree(tmp_path)
    assert open_power(tmp_path, LAPTOP).name == "RAPL package-0"
    battery_tree(tmp_path, power_now=9_000_000)
    meter = open_power(tmp_path, LAPTOP)
    assert meter.read(0.0).watts == 9.0
    assert meter.name == "battery BAT0 (the whole device, from the battery)"


def test_the_name_tells_why_a_better_source_is_not_used(tmp_path: Path) -> None:
    rapl_tree(tmp_path)
    battery_tree(tmp_path, status="Charging", power_now=9_000_000)
    meter = open_power(tmp_path, LAPTOP)
    meter.read(0.0)
    assert meter.name.startswith("RAPL package-0 (battery BAT0: state is 'charging'")


def test_a_sensor_of_a_part_is_used_only_on_request(tmp_path: Path) -> None:
    put(tmp_path, {"sys/class/hwmon/hwmon0/name": "amdgpu", "sys/class/hwmon/hwmon0/power1_input": 3_000_000})
    assert open_power(tmp_path, LAPTOP).read(0.0).kind == "estimated"
    assert open_power(tmp_path, LAPTOP, prefer="amdgpu").read(0.0).watts == 3.0


def test_an_unusable_source_raises_an_error_with_alternatives(tmp_path: Path) -> None:
    battery_tree(tmp_path, status="Charging")
    with pytest.raises(UsageError, match="'battery' can be used here: state is 'charging'") as caught:
        open_power(tmp_path, LAPTOP, prefer="battery")
    assert "estimate of profile laptop" in caught.value.hint


def test_a_lost_sensor_is_replaced_and_used_again_later(tmp_path: Path) -> None:
    clock = Clock()
    hwmon_ina3221(tmp_path, {"VDD_IN": (5000, 1000)})
    meter = open_power(tmp_path, LAPTOP, clock=clock)
    assert meter.read(0.0).watts == 5.0
    put(tmp_path, {"sys/class/hwmon/hwmon1/curr1_input": None})
    clock.now += 1
    assert meter.read(1.0).watts == 5.0  # after one failure the last value is used
    power = None
    for _ in range(3):
        clock.now += 1
        power = meter.read(1.0)
    assert power is not None
    assert power.kind == "estimated" and power.watts == pytest.approx(LAPTOP.idle_w + LAPTOP.core_w)
    assert "no longer answers" in meter.name
    put(tmp_path, {"sys/class/hwmon/hwmon1/curr1_input": 1200})
    assert meter.read(1.0).kind == "estimated"  # the sensor is retried only after a while
    clock.now += RETRY_S
    assert meter.read(1.0).watts == pytest.approx(6.0)
    assert len(meter.notes) == 3


def test_unusable_sources_are_listed_with_their_reason(tmp_path: Path) -> None:
    battery_tree(tmp_path, status="Full")
    put(
        tmp_path,
        {
            "sys/class/thermal/thermal_zone0/type": "cpu",
            "sys/class/thermal/thermal_zone0/temp": 51000,
            "sys/class/thermal/cooling_device0/type": "cpufreq",
            "sys/class/thermal/cooling_device0/cur_state": 2,
        },
    )
    rows = sources(tmp_path, LAPTOP)
    assert [(row["kind"], row["name"], row["usable"]) for row in rows] == [
        ("power", "battery BAT0", False),
        ("power", "estimate of profile laptop", True),
        ("temperature", "cpu", True),
        ("throttling", "now", True),
    ]
    assert rows[2]["note"] == "51.0 °C now, no passive trip point"


class Script:
    """A power meter that returns the next figure of a list at each reading. For None it raises the error of a lost
    sensor."""

    name = "script"

    def __init__(self, *watts: float | None) -> None:
        self._watts = list(watts)

    def read(self, busy: float):  # type: ignore[no-untyped-def]
        from arenite.host.energy.base import Power

        watts = self._watts.pop(0)
        if watts is None:
            raise DeviceError("gone", "")
        return Power(watts, "measured" if watts < 50 else "estimated", "script")


def test_energy_is_power_times_time_without_gaps() -> None:
    clock = Clock()
    meter = EnergyMeter(Script(5.0, 7.0, None, 5.0, 5.0), max_interval_s=10, clock=clock)
    for step in (1.0, 2.0, 1.0, 60.0, 1.0):  # in the fourth step the computer slept
        clock.now += step
        meter.sample(0.0)
    total = meter.total()
    assert (total.joules, total.seconds, total.gap_s) == (5 * 1 + 7 * 2 + 5 * 1, 4.0, 61.0)
    assert total.kind == "measured" and total.mean_w == 6.0


def test_energy_with_one_estimate_is_estimated() -> None:
    clock = Clock()
    meter = EnergyMeter(Script(5.0, 60.0), clock=clock)
    assert meter.total().mean_w is None
    for _ in range(2):
        clock.now += 1
        meter.sample(0.0)
    assert meter.total().kind == "estimated" and meter.total().measured_s == 1.0
