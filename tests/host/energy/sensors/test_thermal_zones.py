"""Thermal zones and throttling, read from sysfs trees in the kernel's format."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import DeviceError
from arenite.host.energy.power_sources import open_thermometer
from arenite.host.energy.throttling import read_throttling
from arenite.profiles.hosts import load_host
from tests.host.energy.sysfs_trees import put


def zone(number: int, name: str, temp: object, **trips: object) -> dict[str, object]:
    """Return the files of a thermal zone by path. ``trips`` maps the types of trip points to temperatures in
    millidegrees."""
    base = f"sys/class/thermal/thermal_zone{number}"
    files: dict[str, object] = {f"{base}/type": name, f"{base}/temp": temp}
    for index, (trip_type, value) in enumerate(trips.items()):
        files |= {f"{base}/trip_point_{index}_type": trip_type, f"{base}/trip_point_{index}_temp": value}
    return files


def test_the_zone_nearest_to_its_passive_trip_is_used(tmp_path: Path) -> None:
    put(tmp_path, zone(0, "cpu", 70000, passive=95000, critical=105000) | zone(1, "skin-therm", 44000, passive=45000)
        | zone(2, "battery", 80000) | zone(10, "PMIC-Die", 100000, critical=120000))  # fmt: skip
    thermometer = open_thermometer(tmp_path)
    assert thermometer is not None
    reading = thermometer.read()
    assert (reading.celsius, reading.trip, reading.source) == (44.0, 45.0, "skin-therm")
    assert dict(reading.zones) == {"cpu": 70.0, "skin-therm": 44.0}


def test_the_zone_changes_only_if_another_is_clearly_nearer(tmp_path: Path) -> None:
    put(tmp_path, zone(0, "cpu", 80000, passive=95000) | zone(1, "gpu", 79000, passive=95000))
    thermometer = open_thermometer(tmp_path)
    assert thermometer is not None and thermometer.read().source == "cpu"
    put(tmp_path, zone(1, "gpu", 82000))
    assert thermometer.read().source == "cpu"
    put(tmp_path, zone(1, "gpu", 84000))
    assert thermometer.read().source == "gpu"


def test_the_limit_of_a_user_applies_to_the_skin_sensor(tmp_path: Path) -> None:
    put(tmp_path, zone(0, "cpu", 70000, passive=95000) | zone(1, "skin-therm", 38000, passive=45000))
    thermometer = open_thermometer(tmp_path, limit_c=43.0)
    assert thermometer is not None and thermometer.read().source == "skin-therm"


@pytest.mark.parametrize("temp", ["", "garbage", "-274000", "500000", "0"])
def test_an_invalid_sensor_is_ignored(tmp_path: Path, temp: str) -> None:
    put(tmp_path, zone(0, "cpu", temp, passive=95000) | zone(1, "gpu", 50000, passive=95000))
    thermometer = open_thermometer(tmp_path)
    assert thermometer is not None and thermometer.read().source == "gpu"


def test_a_vanished_zone_raises_an_error(tmp_path: Path) -> None:
    put(tmp_path, zone(0, "cpu", 50000, passive=95000))
    thermometer = open_thermometer(tmp_path)
    assert thermometer is not None
    put(tmp_path, {"sys/class/thermal/thermal_zone0/temp": None})
    with pytest.raises(DeviceError, match="No thermal zone"):
        thermometer.read()


def test_the_trip_point_of_a_raspberry_pi_is_from_its_profile(tmp_path: Path) -> None:
    put(tmp_path, zone(0, "cpu-thermal", 61234, critical=110000)
        | {"proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.4\0"})  # fmt: skip
    thermometer = open_thermometer(tmp_path)
    assert thermometer is not None
    reading = thermometer.read()
    assert (reading.celsius, reading.trip) == (61.234, load_host("raspberry_pi_4").thermal.trip_c)


def test_coretemp_replaces_missing_zones(tmp_path: Path) -> None:
    base = "sys/class/hwmon/hwmon4"
    put(tmp_path, {f"{base}/name": "coretemp", f"{base}/temp1_input": 55000, f"{base}/temp1_label": "Package id 0",
                   f"{base}/temp1_crit": 100000})  # fmt: skip
    thermometer = open_thermometer(tmp_path)
    assert thermometer is not None
    reading = thermometer.read()
    assert (reading.celsius, reading.trip, reading.source) == (55.0, 100.0, "coretemp Package id 0")


def test_without_sensors_there_is_no_thermometer(tmp_path: Path) -> None:
    assert open_thermometer(tmp_path) is None


def test_throttling_is_reported_with_its_evidence(tmp_path: Path) -> None:
    cooling = "sys/class/thermal/cooling_device"
    put(tmp_path, {f"{cooling}0/type": "cpu-balanced", f"{cooling}0/cur_state": 0, f"{cooling}0/max_state": 10,
                   f"{cooling}1/type": "pwm-fan", f"{cooling}1/cur_state": 3})  # fmt: skip
    assert not read_throttling(tmp_path).now
    policy = "sys/devices/system/cpu/cpu0/cpufreq"
    put(
        tmp_path,
        {
            f"{cooling}0/cur_state": 4,
            f"{policy}/scaling_max_freq": 900000,
            f"{policy}/cpuinfo_max_freq": 1479000,
            "sys/devices/platform/soc/soc:firmware/get_throttled": "50005",
        },
    )
    state = read_throttling(tmp_path)
    assert state.now and state.evidence == (
        "cpu-balanced at state 4 of 10", "CPU capped at 900 of 1479 MHz", "firmware: under-voltage",
        "firmware: throttled",
    )  # fmt: skip
    assert "CPU capped" not in " ".join(read_throttling(tmp_path, own_cap_khz=900000).evidence)
