"""Tests of the levers: the expected effect of their levels, and the files that they write for the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.simulated_device import FrameWork, SimulatedDevice
from arenite.host.governor.levers import (
    CpufreqLever,
    DevfreqLever,
    StepLever,
    energy,
    fps_lever,
    loss,
    rest_lever,
    speed,
    threads_lever,
)
from arenite.profiles.hosts import load_host


def test_less_work_takes_less_energy_and_time() -> None:
    labels: list[object] = []
    lever = StepLever("resolution", ["640x480", "320x240"], [4.0, 1.0], labels.append)
    lever.move(1)
    assert labels == ["320x240"] and lever.level == 1
    assert (lever.cost(1), lever.energy(1), lever.speed(1)) == (0.25, 0.25, 4.0)
    assert loss(lever, 0) == 0.0 < loss(lever, 1)


def test_fewer_threads_save_power_but_no_energy() -> None:
    lever = threads_lever(4, lambda _: None)
    assert [lever.label(i) for i in range(4)] == [4, 3, 2, 1]
    assert lever.energy(3) == pytest.approx(1.0) and 0.2 < lever.speed(3) < 0.5


def test_frame_rates_have_small_steps() -> None:
    lever = fps_lever(30, lambda _: None, lowest=1.0, step=0.5)
    assert (lever.label(0), lever.label(1), lever.label(lever.levels - 1)) == (30.0, 29.5, 1.0)
    with pytest.raises(UsageError, match="not a valid range"):
        fps_lever(10, lambda _: None, lowest=20)


def test_a_user_lever_is_rated_by_its_costs() -> None:
    class Plain:
        """A lever that states only the cost of each level."""

        name, levels, level = "model", 2, 0

        def label(self, level: int) -> str:
            return "ab"[level]

        def cost(self, level: int) -> float:
            return (1.0, 0.5)[level]

        def move(self, level: int) -> None:
            self.level = level

    lever = Plain()
    assert (energy(lever, 1), speed(lever, 1)) == (0.5, 2.0)
    assert loss(lever, 0) == 0.0 < loss(lever, 1)


@pytest.mark.parametrize(("labels", "costs"), [([], []), ([1, 2], [1.0]), ([1, 2], [1.0, 0.0])])
def test_invalid_levels_raise_an_error(labels: list[int], costs: list[float]) -> None:
    with pytest.raises(UsageError):
        StepLever("model", labels, costs, lambda _: None)


def test_the_simulated_device_follows_the_levers(tmp_path: Path) -> None:
    plant = SimulatedDevice(load_host("jetson_nano"), FrameWork(0.006, accelerator_s=0.06), tmp_path)
    fast = plant.frame_s()
    lever = DevfreqLever(tmp_path)
    assert lever.label(0) == 921.6 and lever.levels <= 12
    lever.move(lever.levels - 1)
    assert (tmp_path / "sys/class/devfreq/57000000.gpu/max_freq").read_text().strip() == "76800000"
    assert plant.frame_s() > 5 * fast
    lever.restore()
    assert plant.frame_s() == pytest.approx(fast)
    cpu = CpufreqLever(tmp_path)
    cpu.move(3)
    assert plant.ratios()[0] == pytest.approx(float(cpu.label(3)) / 1479, rel=1e-3)
    assert cpu.energy(3) < 1 and cpu.speed(3) < 1


def test_missing_or_overridden_cpufreq_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no cpufreq driver"):
        CpufreqLever(tmp_path)
    with pytest.raises(UsageError, match="no devfreq device"):
        DevfreqLever(tmp_path)
    SimulatedDevice(load_host("phone"), FrameWork(0.003, 0.1, 4), tmp_path)
    lever = CpufreqLever(tmp_path)
    limit_file = tmp_path / "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq"
    limit_file.unlink()
    # /dev/null accepts every write without an effect, like a vendor's daemon that restores the value.
    limit_file.symlink_to("/dev/null")
    with pytest.raises(DeviceError, match="other program"):
        lever.move(2)
    assert lever.level == 0


def test_missing_frequency_steps_are_computed(tmp_path: Path) -> None:
    policy = tmp_path / "sys/devices/system/cpu/cpufreq/policy0"
    policy.mkdir(parents=True)
    for name, value in (
        ("scaling_max_freq", 4000000),
        ("cpuinfo_max_freq", 4000000),
        ("cpuinfo_min_freq", 400000),
    ):
        (policy / name).write_text(f"{value}\n")
    lever = CpufreqLever(tmp_path)
    assert [lever.label(0), lever.label(lever.levels - 1), lever.levels] == [4000.0, 400.0, 10]


def test_the_lowest_level_of_the_rest_lever_processes_frames_in_five_percent_of_the_time(
    tmp_path: Path,
) -> None:
    lever = rest_lever(lambda _: None, saves_w=1.5)
    assert (
        lever.saves_w == 1.5 and lever.label(0) == 1.0 and lever.cost(lever.levels - 1) == pytest.approx(0.05)
    )
