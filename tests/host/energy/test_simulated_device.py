"""The simulated device follows its physical model, and the real sensor code reads its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.host.energy.power_sources import open_power, open_thermometer
from arenite.host.energy.simulated_device import FrameWork, SimulatedDevice
from arenite.host.energy.throttling import read_throttling
from arenite.profiles.hosts import detect_host, host_names, load_host

#: Work that uses four cores and the accelerator.
BUSY = FrameWork(0.003, core_s=0.4, threads=4, accelerator_s=0.02)


@pytest.mark.parametrize("name", host_names())
def test_sensors_read_the_power_and_temperature_of_the_simulated_device(tmp_path: Path, name: str) -> None:
    profile = load_host(name)
    device = SimulatedDevice(profile, BUSY, tmp_path, ambient_c=30)
    if profile.models or name == "phone":
        assert detect_host(tmp_path) == profile
    meter = open_power(tmp_path, profile, clock=device.clock)
    thermometer = open_thermometer(tmp_path, None, profile)
    assert thermometer is not None
    device.run(1)
    meter.read(4.0)
    device.run(30)
    power = meter.read(4.0)
    if power.kind == "measured":
        assert power.watts == pytest.approx(device.watts, rel=0.06)
    else:
        assert name in ("intel_n150", "orange_pi_5", "raspberry_pi_4", "raspberry_pi_5")  # no power sensor
    assert thermometer.read().celsius == pytest.approx(device.throttling_c, abs=1.5)


@pytest.mark.slow
def test_the_temperature_settles_at_resistance_times_power(tmp_path: Path) -> None:
    device = SimulatedDevice(
        load_host("jetson_nano"), FrameWork(0.006, accelerator_s=0.06), tmp_path, ambient_c=25, fps=5
    )
    device.run(3 * 3600)
    # The profile has 1.2 K/W from the junction to the case and 6 K/W from there to the air.
    assert device.junction_c == pytest.approx(25 + 7.2 * device.watts, abs=0.5)
    assert device.throttled_s == 0


def test_a_hot_device_throttles_near_the_trip_point(tmp_path: Path) -> None:
    device = SimulatedDevice(
        load_host("jetson_nano"), FrameWork(0.006, accelerator_s=0.061), tmp_path, ambient_c=65
    )
    cool_rate, _, _ = device.run(30)
    device.run(1800)
    hot_rate, _, _ = device.run(60)
    assert hot_rate < 0.9 * cool_rate
    assert device.junction_c == pytest.approx(97, abs=3)
    assert read_throttling(tmp_path).now and "cpu-balanced" in read_throttling(tmp_path).evidence[0]


def test_a_hot_phone_is_capped_until_it_is_cool(tmp_path: Path) -> None:
    device = SimulatedDevice(load_host("phone"), FrameWork(0.003, 0.12, 4), tmp_path, ambient_c=35)
    full, _, _ = device.run(10)
    device.run(900)
    hot, _, _ = device.run(10)
    assert hot == pytest.approx(0.57 * full, rel=0.1)
    device.load.fps = 1.0
    device.run(1800)
    device.load.fps = 30.0
    cool, _, _ = device.run(5)
    assert cool == pytest.approx(full, rel=0.05)


def test_resting_saves_power(tmp_path: Path) -> None:
    device = SimulatedDevice(load_host("laptop"), FrameWork(0.005, 0.02, 4), tmp_path, fps=20)
    device.load.duty, device.load.saves_w = 0.5, 4.0
    rate, watts, _ = device.run(40)
    assert rate == pytest.approx(10, rel=0.02)
    device.load.duty = 1.0
    assert device.run(40)[1] > watts + 1.5
