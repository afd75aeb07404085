"""Write the sysfs files of a simulated device, in the kernel's own formats, for each kind of host profile.

A Jetson has an INA3221 on hwmon, the zones CPU-therm and PMIC-Die (which is not a sensor), and devfreq of the GPU. A
phone has a battery whose current is negative while it discharges, a chip zone and a skin zone. An x86 computer has
RAPL counters that wrap. A Raspberry Pi has no power sensor, and its zone has no passive trip point. All have cpufreq
and a cooling device.
"""

from __future__ import annotations

import os
from pathlib import Path

from arenite.profiles.hosts import HostProfile

RAPL_RANGE_UJ = 262_143_328_850


class SimulatedSysfs:
    """The files under ``root``. The constructor creates them, and ``write`` updates the sensors."""

    def __init__(self, profile: HostProfile, root: Path) -> None:
        self._profile, self._root = profile, Path(root)
        self._jetson = profile.name.startswith("jetson")
        self._phone = profile.thermal.trips_on == "case"
        self._x86 = profile.name in ("laptop", "generic_x86")
        self._energy_uj = RAPL_RANGE_UJ - 50_000_000  # the counter wraps within the first seconds of a run
        self._parts = (0.0, 0.0)  # watts of the rails of the accelerator and of the cores
        self._cpufreq = [
            f"sys/devices/system/cpu/cpufreq/policy{i}" for i in range(1 if profile.cores <= 4 else 2)
        ]
        self._gpu = "sys/class/devfreq/57000000.gpu"
        self._create_files()

    def _write_file(self, name: str, value: object) -> None:
        path = self._root / name
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True)
        # Write in one system call, so that a reader never sees a part of a number. Sysfs guarantees the same.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            data = f"{value}\n".encode()
            os.pwrite(handle, data, 0)
            os.ftruncate(handle, len(data))
        finally:
            os.close(handle)

    def _create_files(self) -> None:
        profile, heat = self._profile, self._profile.thermal
        if profile.models:
            self._write_file("proc/device-tree/model", f"{profile.models[0]} (simulated)")
        for policy in self._cpufreq:
            steps = [f"{mhz * 1000:.0f}" for mhz in profile.steps_mhz]
            self._write_file(f"{policy}/scaling_available_frequencies", " ".join(steps) + " ")
            self._write_file(f"{policy}/cpuinfo_min_freq", steps[0])
            self._write_file(f"{policy}/cpuinfo_max_freq", steps[-1])
            self._write_file(f"{policy}/scaling_max_freq", steps[-1])
        for cpu in range(profile.cores):
            folder = self._root / f"sys/devices/system/cpu/cpu{cpu}"
            folder.mkdir(parents=True, exist_ok=True)
            link = folder / "cpufreq"
            if not link.exists():
                link.symlink_to(Path("../cpufreq") / Path(self._cpufreq[cpu % len(self._cpufreq)]).name)
        if profile.accelerator_steps_mhz and self._jetson:
            hertz = [f"{mhz * 1e6:.0f}" for mhz in profile.accelerator_steps_mhz]
            self._write_file(f"{self._gpu}/available_frequencies", " ".join(hertz))
            self._write_file(f"{self._gpu}/max_freq", hertz[-1])
            self._write_file(f"{self._gpu}/min_freq", hertz[0])
        zone = "sys/class/thermal/thermal_zone0"
        if self._jetson:
            self._write_file(f"{zone}/type", "CPU-therm")
            self._write_file("sys/class/thermal/thermal_zone1/type", "PMIC-Die")
            self._write_file("sys/class/thermal/thermal_zone1/temp", 100000)
            self._write_file("sys/class/thermal/thermal_zone1/trip_point_0_type", "critical")
            self._write_file("sys/class/thermal/thermal_zone1/trip_point_0_temp", 120000)
            hwmon = "sys/class/hwmon/hwmon1"
            total = "POM_5V_IN" if profile.name == "jetson_nano" else "VDD_IN"
            self._write_file(f"{hwmon}/name", "ina3221")
            for channel, label in enumerate((total, "POM_5V_GPU", "POM_5V_CPU"), 1):
                self._write_file(f"{hwmon}/in{channel}_label", label)
                self._write_file(f"{hwmon}/in{channel}_input", 5000)
            self._write_file(f"{hwmon}/in7_label", "sum of shunt voltages")
        elif self._phone:
            self._write_file(f"{zone}/type", "cpu-0-0-usr")
            self._write_file("sys/class/thermal/thermal_zone1/type", "skin-therm")
            self._write_file("sys/class/thermal/thermal_zone1/trip_point_0_type", "passive")
            self._write_file("sys/class/thermal/thermal_zone1/trip_point_0_temp", f"{heat.trip_c * 1000:.0f}")
            self._write_file("sys/class/power_supply/battery/type", "Battery")
            self._write_file("sys/class/power_supply/battery/status", "Discharging")
            self._write_file("sys/class/power_supply/battery/voltage_now", 3850000)
            self._write_file("system/build.prop", "ro.product.model=simulated")
        elif self._x86:
            self._write_file(f"{zone}/type", "x86_pkg_temp")
            self._write_file("sys/class/powercap/intel-rapl:0/name", "package-0")
            self._write_file("sys/class/powercap/intel-rapl:0/max_energy_range_uj", RAPL_RANGE_UJ)
        else:
            self._write_file(f"{zone}/type", "cpu-thermal")
        has_trip = self._jetson or self._phone or self._x86
        kind, trip = ("passive", 95.0 if self._phone else heat.trip_c) if has_trip else ("critical", 110.0)
        self._write_file(f"{zone}/trip_point_0_type", kind)
        self._write_file(f"{zone}/trip_point_0_temp", f"{trip * 1000:.0f}")
        self._write_file(
            "sys/class/thermal/cooling_device0/type", "cpu-balanced" if self._jetson else "cpufreq-cpu0"
        )
        self._write_file("sys/class/thermal/cooling_device0/max_state", 10)

    def caps(self) -> tuple[float, float]:
        """Return the caps that levers wrote, for cores and accelerator, relative to the hardware's highest frequency.
        Invalid content counts as no cap."""
        ratios = []
        for policy in self._cpufreq:
            ratios.append(self._ratio(f"{policy}/scaling_max_freq", self._profile.steps_mhz[-1] * 1e3))
        accelerator = 1.0
        if self._jetson and self._profile.accelerator_steps_mhz:
            accelerator = self._ratio(f"{self._gpu}/max_freq", self._profile.accelerator_steps_mhz[-1] * 1e6)
        return min(ratios), accelerator

    def _ratio(self, name: str, max_value: float) -> float:
        try:
            return min(1.0, max(0.05, float((self._root / name).read_text()) / max_value))
        except (OSError, ValueError):
            return 1.0

    def add_energy(self, joules: float) -> None:
        """Advance RAPL's counter, which wraps."""
        self._energy_uj = (self._energy_uj + round(joules * 1e6)) % RAPL_RANGE_UJ

    def set_load(self, cores: float, accelerator: float, idle_w: float, dynamic_w: float) -> None:
        """Set the power of the accelerator's rail and of the cores' rail. ``cores`` and ``accelerator`` are the seconds
        per second in which each is busy, in proportion to which they share ``dynamic_w``."""
        total = max(1e-9, cores + accelerator)
        # Assumed: 13 % of the idle power is on the rail of the cores.
        self._parts = (dynamic_w * accelerator / total, idle_w * 0.13 + dynamic_w * cores / total)

    def write(self, watts: float, junction_c: float, case_c: float, state: int, cap: float) -> None:
        """Write all sensors. ``cap`` is the firmware's frequency cap, relative to the highest frequency."""
        zone = "sys/class/thermal/thermal_zone"
        step = 0.5 if self._jetson else 0.1  # NVIDIA's tegrastats shows steps of half a degree
        self._write_file(f"{zone}0/temp", round(round(junction_c / step) * step * 1000))
        if self._jetson:
            for channel, value in enumerate((watts, *self._parts), 1):
                # The chip measures current in steps of about 2 mA on the Nano's shunts.
                self._write_file(
                    f"sys/class/hwmon/hwmon1/curr{channel}_input", round(value / 5.0 * 1000 / 2) * 2
                )
        elif self._phone:
            self._write_file(f"{zone}1/temp", round(case_c * 10) * 100)
            self._write_file("sys/class/power_supply/battery/current_now", -round(watts / 3.85 * 1e6))
        elif self._x86:
            self._write_file("sys/class/powercap/intel-rapl:0/energy_uj", self._energy_uj)
        self._write_file("sys/class/thermal/cooling_device0/cur_state", state)
        for policy in self._cpufreq:
            max_value = self._profile.steps_mhz[-1] * 1000
            lever_cap = self._ratio(f"{policy}/scaling_max_freq", max_value)
            self._write_file(f"{policy}/scaling_cur_freq", f"{max_value * min(lever_cap, cap):.0f}")
