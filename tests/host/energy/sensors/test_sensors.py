"""Each sensor reads the right power from a sysfs tree in the kernel's format, or raises an error."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.errors import DeviceError
from arenite.host.energy.sensors import battery, hwmon, ina3221, profile_estimate, rapl
from arenite.profiles.hosts import load_host
from tests.host.energy.sysfs_trees import Clock, battery_tree, hwmon_ina3221, put, rapl_tree


def test_the_total_power_of_a_jetson_is_that_of_its_input_rail(tmp_path: Path) -> None:
    hwmon_ina3221(tmp_path, {"POM_5V_IN": (5000, 900), "POM_5V_GPU": (5000, 200), "POM_5V_CPU": (5000, 300)})
    sources = ina3221.find(tmp_path)
    assert [(f.name, f.scope) for f in sources] == [("INA3221 POM_5V_IN", "device")]
    power = sources[0].open().read(0.0)  # type: ignore[misc]
    assert power.watts == pytest.approx(4.5)
    assert (power.kind, dict(power.rails)) == ("measured", {"POM_5V_GPU": 1.0, "POM_5V_CPU": 1.5})


def test_unconnected_rails_and_shunt_channels_are_skipped(tmp_path: Path) -> None:
    hwmon_ina3221(tmp_path, {"VDD_IN": (19000, 400), "NC": (0, 0), "VDD_SOC": (5000, 100)})
    assert [rail.name for rail in ina3221.rails(tmp_path)] == ["VDD_IN", "VDD_SOC"]


def test_without_an_input_rail_disjoint_rails_are_summed(tmp_path: Path) -> None:
    hwmon_ina3221(
        tmp_path, {"VDD_GPU_SOC": (20000, 200), "VDD_CPU_CV": (20000, 100), "VIN_SYS_5V0": (5000, 600)}
    )
    hwmon_ina3221(tmp_path, {"VDDQ_VDD2_1V8AO": (5000, 200), "NC": (0, 0)}, 2)
    power = ina3221.find(tmp_path)[0].open().read(0.0)  # type: ignore[misc]
    assert power.watts == pytest.approx(4.0 + 2.0 + 3.0)
    assert dict(power.rails) == {"VDDQ_VDD2_1V8AO": 1.0}


def test_older_iio_files_with_two_paths_are_read_once(tmp_path: Path) -> None:
    base = "sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0"
    put(tmp_path, {f"{base}/rail_name_0": "POM_5V_IN", f"{base}/in_power0_input": 2132,
                   f"{base}/rail_name_1": "POM_5V_GPU", f"{base}/in_power1_input": 78,
                   f"{base}/rail_name_2": "NC", f"{base}/in_power2_input": 0})  # fmt: skip
    (tmp_path / "sys/bus/iio/devices").mkdir(parents=True)
    (tmp_path / "sys/bus/iio/devices/iio:device0").symlink_to(tmp_path / base)
    assert len(ina3221.rails(tmp_path)) == 2
    assert ina3221.find(tmp_path)[0].open().read(0.0).watts == pytest.approx(2.132)  # type: ignore[misc]


def test_a_single_rail_has_the_scope_part(tmp_path: Path) -> None:
    hwmon_ina3221(tmp_path, {"VDD_CPU": (5000, 100)})
    assert [(f.name, f.scope) for f in ina3221.find(tmp_path)] == [("INA3221 VDD_CPU", "part")]


@pytest.mark.parametrize("text", ["", "abc", "-400", "nan", "99999999999"])
def test_an_invalid_rail_value_raises_an_error(tmp_path: Path, text: str) -> None:
    hwmon_ina3221(tmp_path, {"VDD_IN": (19000, 400)})
    meter = ina3221.find(tmp_path)[0].open()  # type: ignore[misc]
    put(tmp_path, {"sys/class/hwmon/hwmon1/curr1_input": text})
    with pytest.raises(DeviceError, match="VDD_IN"):
        meter.read(0.0)


def test_the_ina238_of_thor_measures_the_module_in_microwatts(tmp_path: Path) -> None:
    put(
        tmp_path, {"sys/class/hwmon/hwmon0/name": "ina238", "sys/class/hwmon/hwmon0/power1_input": 31_500_000}
    )
    sources = hwmon.find(tmp_path)
    assert (sources[0].name, sources[0].scope) == ("INA238 power1", "device")
    assert sources[0].open().read(0.0).watts == pytest.approx(31.5)  # type: ignore[misc]


def test_an_average_precedes_an_instant_reading_and_a_gpu_is_a_part(tmp_path: Path) -> None:
    base = "sys/class/hwmon/hwmon3"
    put(tmp_path, {f"{base}/name": "amdgpu", f"{base}/power1_average": 7_000_000, f"{base}/power1_input": 9_000_000,
                   f"{base}/power1_label": "PPT"})  # fmt: skip
    sources = hwmon.find(tmp_path)
    assert [(f.name, f.scope) for f in sources] == [("amdgpu PPT", "part")]
    assert sources[0].open().read(0.0).watts == 7.0  # type: ignore[misc]
    put(tmp_path, {f"{base}/power1_average": "N/A"})
    assert hwmon.find(tmp_path)[0].open is None


def test_rapl_power_is_energy_over_time_with_wrapping(tmp_path: Path) -> None:
    """The counter wraps around at 262143328850 microjoules. It advances by 12 J in 2 s."""
    clock = Clock()
    rapl_tree(tmp_path, energy=262143328850 - 5_000_000)
    meter = rapl.find(tmp_path, clock)[0].open()  # type: ignore[misc]
    rapl_tree(tmp_path, energy=7_000_000)
    clock.now += 2
    power = meter.read(0.0)
    assert power.watts == pytest.approx(6.0)
    assert power.source == "RAPL package-0"
    clock.now += 0.001  # too soon for a new mean, so the last one is returned
    assert meter.read(0.0).watts == pytest.approx(6.0)


@given(st.lists(st.integers(0, 60_000_000), min_size=1, max_size=20), st.integers(0, 262143328849))
def test_rapl_powers_add_up_to_the_energy(steps: list[int], start: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root, clock, count = Path(folder), Clock(), start
        rapl_tree(root, energy=count)
        meter = rapl.find(root, clock)[0].open()  # type: ignore[misc]
        joules = 0.0
        for step in steps:
            count = (count + step) % 262143328850
            rapl_tree(root, energy=count)
            clock.now += 0.5
            joules += meter.read(0.0).watts * 0.5
        assert joules == pytest.approx(sum(steps) / 1e6, abs=1e-5)


def test_only_packages_are_summed(tmp_path: Path) -> None:
    clock = Clock()
    for index, name in (("0", "package-0"), ("1", "package-1"), ("0:0", "core"), ("2", "psys")):
        rapl_tree(tmp_path, name, 1_000_000, index)
    sources = {f.name: f for f in rapl.find(tmp_path, clock)}
    assert {name: f.scope for name, f in sources.items()} == {
        "RAPL psys": "device", "RAPL package-0+package-1": "package", "RAPL core": "part"}  # fmt: skip
    meter = sources["RAPL package-0+package-1"].open()  # type: ignore[misc]
    for index, name in (("0", "package-0"), ("1", "package-1")):
        rapl_tree(tmp_path, name, 4_000_000, index)
    clock.now += 1
    assert meter.read(0.0).watts == pytest.approx(6.0)


def test_an_unreadable_counter_names_the_remedy() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rapl_tree(Path(folder))
        counter = Path(folder) / "sys/class/powercap/intel-rapl:0/energy_uj"
        counter.chmod(0 if os.getuid() else 0o400)
        Path(folder).chmod(0o755)
        code = (
            "import os, sys; from pathlib import Path; from arenite.host.energy.sensors import rapl\n"
            "if os.getuid() == 0: os.setuid(65534)\n"
            "found = rapl.find(Path(sys.argv[1])); print(found[0].open is None, found[0].note)"
        )
        process = subprocess.run(
            [sys.executable, "-c", code, folder], capture_output=True, text=True, timeout=60
        )
    assert process.stdout.startswith("True permission denied: run as root"), process.stderr
    assert "chmod a+r" in process.stdout


@pytest.mark.parametrize(
    ("files", "watts"),
    [
        ({"power_now": 8_400_000}, 8.4),
        ({"power_now": -8_400_000}, 8.4),
        ({"voltage_now": 11_400_000, "current_now": 700_000}, 7.98),
        # A phone that reports a discharging current as negative.
        (
            {"voltage_now": 3_850_000, "current_now": -650_000},
            2.5025,
        ),
        ({"voltage_now": 3_850_000, "current_now": 650}, 2.5025),  # a phone that reports mA
        ({"power_now": 0, "voltage_now": 4_000_000, "current_now": -500_000}, 2.0),
    ],
)
def test_batteries_with_either_sign_and_unit(tmp_path: Path, files: dict[str, object], watts: float) -> None:
    battery_tree(tmp_path, **files)
    power = battery.find(tmp_path)[0].open().read(0.0)  # type: ignore[misc]
    assert power.watts == pytest.approx(watts)


def test_a_charging_battery_gives_no_power(tmp_path: Path) -> None:
    battery_tree(tmp_path, status="Charging", power_now=8_400_000)
    sources = battery.find(tmp_path)
    assert sources[0].open is None and "'charging'" in sources[0].note
    battery_tree(tmp_path, status="Discharging", power_now=8_400_000)
    meter = battery.find(tmp_path)[0].open()  # type: ignore[misc]
    battery_tree(tmp_path, status="Full", power_now=0)
    with pytest.raises(DeviceError, match="not discharging"):
        meter.read(0.0)


def test_batteries_of_other_devices_are_ignored(tmp_path: Path) -> None:
    battery_tree(tmp_path, scope="Device", power_now=1)
    assert battery.find(tmp_path) == []


def test_a_charge_counter_gives_a_coarse_mean(tmp_path: Path) -> None:
    clock = Clock()
    battery_tree(tmp_path, charge_now=3_000_000, voltage_now=4_000_000)
    meter = battery.find(tmp_path, clock)[0].open()  # type: ignore[misc]
    with pytest.raises(DeviceError, match="not changed yet"):
        meter.read(0.0)
    clock.now += 60
    battery_tree(tmp_path, charge_now=2_990_000, voltage_now=4_000_000)
    assert meter.read(0.0).watts == pytest.approx(0.01 * 3600 * 4 / 60)  # 10 mAh at 4 V in a minute


def test_an_estimate_depends_on_load_and_frequency(tmp_path: Path) -> None:
    profile = load_host("raspberry_pi_4")
    meter = profile_estimate.find(tmp_path, profile)[0].open()  # type: ignore[misc]
    idle, busy = meter.read(0.0), meter.read(4.0)
    assert idle.kind == busy.kind == "estimated"
    assert (idle.watts, busy.watts) == (profile.idle_w, pytest.approx(profile.idle_w + 4 * profile.core_w))
    assert meter.read(99.0).watts == busy.watts and meter.read(float("nan")).watts == idle.watts
    put(tmp_path, {"sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": 600000,
                   "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": 1500000})  # fmt: skip
    assert idle.watts < meter.read(4.0).watts < busy.watts
