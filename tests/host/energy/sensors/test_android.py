"""Tests of sensors that read Android's commands. The tests put programs on the PATH that print the output of real
phones."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from arenite.errors import DeviceError
from arenite.host.energy.power_sources import open_power, open_thermometer, power_candidates
from arenite.host.energy.sensors import android, android_thermal
from tests.host.energy.sysfs_trees import Clock, command

TERMUX = """{
  "present": true,
  "technology": "Li-poly",
  "health": "GOOD",
  "plugged": "UNPLUGGED",
  "status": "DISCHARGING",
  "temperature": 31.2,
  "voltage": 3912,
  "current": -512000,
  "current_average": null,
  "percentage": 71,
  "level": 71,
  "scale": 100,
  "charge_counter": 2911000,
  "energy": null,
  "cycle": 118
}
"""
BATTERY = """Current Battery Service state:
  AC powered: false
  USB powered: false
  Wireless powered: false
  Max charging current: 0
  Charge counter: 2134000
  status: 3
  health: 2
  present: true
  level: 71
  scale: 100
  voltage: 4011
  temperature: 285
  technology: Li-ion
"""
THERMAL = """IsStatusOverride: false
ThermalEventListeners:
\tcallbacks: 1
Thermal Status: 0
Cached temperatures:
\tTemperature{mValue=36.0, mType=1, mName=GPU, mStatus=0}
\tTemperature{mValue=37.0, mType=0, mName=CPU0, mStatus=0}
HAL Ready: true
HAL connection:
\tThermalHAL 2.0 connected: yes
Current temperatures from HAL:
\tTemperature{mValue=66.5, mType=0, mName=CPU0, mStatus=0}
\tTemperature{mValue=34.5, mType=3, mName=skin, mStatus=0}
\tTemperature{mValue=30.1, mType=2, mName=battery, mStatus=0}
Current cooling devices from HAL:
\tCoolingDevice{mValue=0, mType=2, mName=thermal-cpufreq-0}
Temperature static thresholds from HAL:
\tTemperatureThreshold{mType=2, mName=battery, mHotThrottlingThresholds=[NaN, NaN, NaN, 80.0, NaN, NaN, 90.0], \
mColdThrottlingThresholds=[NaN, NaN, NaN, NaN, NaN, NaN, NaN]}
\tTemperatureThreshold{mType=3, mName=skin, mHotThrottlingThresholds=[NaN, NaN, NaN, 40.0, NaN, NaN, 95.0], \
mColdThrottlingThresholds=[NaN, NaN, NaN, NaN, NaN, NaN, NaN]}
"""


def dumpsys(folder: Path, battery: str = BATTERY, thermal: str = THERMAL) -> str:
    """Write a ``dumpsys`` program that answers for the services battery and thermalservice. Return a PATH with it."""
    path = command(folder, "dumpsys", "Can't find service\n")
    (folder / "dumpsys.battery").write_text(battery)
    (folder / "dumpsys.thermalservice").write_text(thermal)
    return path


def test_termux_reports_the_power_of_the_phone(tmp_path: Path) -> None:
    path = command(tmp_path / "bin", "termux-battery-status", TERMUX)
    meter = open_power(tmp_path, path=path)
    power = meter.read(0.0)
    assert power.watts == pytest.approx(3.912 * 0.512)
    assert (power.kind, power.source) == ("measured", "Termux battery")
    thermometer = open_thermometer(tmp_path, path=path)
    assert thermometer is not None and thermometer.read().celsius == 31.2


def test_termux_without_a_voltage_uses_an_assumed_one(tmp_path: Path) -> None:
    without_volts = TERMUX.replace('  "voltage": 3912,\n', "")
    meter = android.TermuxBattery(command(tmp_path, "termux-battery-status", without_volts))
    assert meter.read(0.0).source == "Termux battery at an assumed 3.85 V"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (TERMUX.replace("DISCHARGING", "CHARGING"), "charging"),
        (TERMUX.replace("-512000", "0"), "no current"),
        ("", "did not print JSON"),
        ("[1]", "not an object"),
        (TERMUX[:60], "did not print JSON"),
    ],
)
def test_missing_figures_of_termux_are_noted(tmp_path: Path, text: str, word: str) -> None:
    path = command(tmp_path, "termux-battery-status", text)
    sources = android.find(path)
    assert sources[0].open is None and word in sources[0].note


def test_an_answer_is_cached_for_two_seconds(tmp_path: Path) -> None:
    clock, path = Clock(), command(tmp_path, "termux-battery-status", TERMUX)
    meter = android.TermuxBattery(path, clock)
    first = meter.read(0.0).watts
    command(tmp_path, "termux-battery-status", TERMUX.replace("-512000", "-900000"))
    assert meter.read(0.0).watts == first
    clock.now += 2.5
    assert meter.read(0.0).watts > 1.5 * first


def test_dumpsys_battery_gives_the_mean_by_the_charge_counter(tmp_path: Path) -> None:
    clock, path = Clock(), dumpsys(tmp_path / "bin")
    assert "dumpsys battery" in [f.name for f in power_candidates(tmp_path, path=path) if f.open is not None]
    meter = android.DumpsysBattery(path, clock)
    with pytest.raises(DeviceError, match="not changed yet"):
        meter.read(0.0)
    clock.now += 90
    dumpsys(tmp_path / "bin", BATTERY.replace("2134000", "2124000"))
    assert meter.read(0.0).watts == pytest.approx(0.010 * 3600 * 4.011 / 90)


def test_thermalservice_prefers_the_hals_values_and_the_skin(tmp_path: Path) -> None:
    thermometer = android_thermal.AndroidThermometer(dumpsys(tmp_path))
    reading = thermometer.read()
    assert (reading.celsius, reading.trip, reading.source) == (34.5, 40.0, "skin")
    assert dict(reading.zones)["CPU0"] == 66.5  # not the cached value of 37


def test_headroom_is_one_at_severe_and_nan_if_read_too_often(tmp_path: Path) -> None:
    clock = Clock()
    thermometer = android_thermal.AndroidThermometer(dumpsys(tmp_path), clock=clock)
    assert thermometer.headroom() == pytest.approx((34.5 - 10) / 30)
    assert math.isnan(thermometer.headroom())
    clock.now += 1.1
    assert not math.isnan(thermometer.headroom())
    assert (android_thermal.headroom(40.0, 40.0), android_thermal.headroom(5.0, 40.0)) == (1.0, 0.0)


def test_an_unready_hal_and_a_denied_permission_raise_an_error(tmp_path: Path) -> None:
    empty = "Thermal Status: 0\nCached temperatures:\nHAL Ready: false\n"
    with pytest.raises(DeviceError, match="not ready"):
        android_thermal.AndroidThermometer(dumpsys(tmp_path / "a", thermal=empty)).read()
    denied = "Permission Denial: can't dump ThermalService from pid=4711, uid=10234\n"
    with pytest.raises(DeviceError, match="refused: Permission Denial") as caught:
        android_thermal.AndroidThermometer(dumpsys(tmp_path / "b", thermal=denied)).read()
    assert "pm grant" in caught.value.hint
    path = command(tmp_path / "c", "dumpsys", "cmd: failure\n", status=20)
    assert android.find(path)[0].open is None


def test_simulated_system_files_exclude_the_commands_of_this_computer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", command(tmp_path / "bin", "termux-battery-status", TERMUX))
    assert "Termux battery" not in [source.name for source in power_candidates(tmp_path)]
