"""Tests of the camera loop's supervisor: energy from sensor files in a simulated sysfs, the governor's steps, and
sensors that fail."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.camera import supervisor as module
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.observe.statistics import Statistics
from arenite.host.camera.sources.base import SourceCounters
from arenite.host.camera.supervisor import CpuLoad, Instruments, Supervisor
from arenite.host.energy.base import Power
from arenite.host.energy.power_sources import open_power
from arenite.host.governor.interface import Action, Observation


class _FakeLoop:
    """A camera loop without frames. It has only the figures that the supervisor reads."""

    def __init__(self) -> None:
        self.statistics = Statistics()
        self.served = self.late = self.computed = self.bytes_written = 0
        self.began_ns = time.monotonic_ns()
        self.source = self
        self.counters = SourceCounters()
        self.stopped = False

    @property
    def seconds(self) -> float:
        return (time.monotonic_ns() - self.began_ns) / 1e9

    def stop(self) -> None:
        self.stopped = True


def fake_loop() -> Any:
    return _FakeLoop()


class Log:
    """A watcher that keeps all states."""

    def __init__(self) -> None:
        self.states: list[dict] = []

    def update(self, state) -> None:
        self.states.append(dict(state))


class FakeGovernor:
    """A governor that lowers the frame rate at each step."""

    def __init__(self) -> None:
        self.observations: list[Observation] = []

    def begin(self, t_s: float = 0.0) -> list[Action]:
        return []

    def step(self, observation: Observation) -> list[Action]:
        self.observations.append(observation)
        return [Action(observation.t_s, "fps", 30, 24, "too hot")]

    def state(self) -> dict:
        return {"log": [{"lever": "fps"}]}


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    """Read the sensors every 20 ms."""
    monkeypatch.setattr(module, "SENSE_INTERVAL_S", 0.02)


def ina3221(root: Path, millivolts: int, milliamperes: int) -> Path:
    """Write the sysfs files of a Jetson's power sensor (INA3221) below ``root``, and return their folder."""
    folder = root / "sys/class/hwmon/hwmon0"
    folder.mkdir(parents=True)
    for name, value in {
        "name": "ina3221",
        "in1_label": "VDD_IN",
        "in1_input": millivolts,
        "curr1_input": milliamperes,
    }.items():
        (folder / name).write_text(f"{value}\n")
    return folder


class Samples:
    """A watcher that counts the samples of the sensors."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    def update(self, state: object) -> None:
        with self._changed:
            self._count += 1
            self._changed.notify()

    def wait_for(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._count >= count, 60), "too few samples in a minute"


def run(supervisor: Supervisor, samples: int = 15) -> None:
    """Run the supervisor of a loop whose first frame was answered, until it has taken ``samples`` samples."""
    taken = Samples()
    supervisor.watchers.append(taken)
    supervisor.on_first_answer()
    supervisor.start()
    taken.wait_for(samples)
    supervisor.stop()


def test_energy_is_sensor_power_times_time(tmp_path: Path) -> None:
    ina3221(tmp_path, 5000, 1200)
    log = Log()
    supervisor = Supervisor(
        fake_loop(),
        {"model": {"name": "m"}},
        instruments=lambda: Instruments(open_power(tmp_path)),
        watchers=[log],
        root=tmp_path,
    )
    run(supervisor)
    assert supervisor.energy is not None
    energy = supervisor.energy.total()
    assert energy.kind == "measured" and energy.seconds > 0.2
    assert energy.mean_w == pytest.approx(6.0)
    assert log.states[-1]["power"]["value"] == pytest.approx(6.0)
    assert "VDD_IN" in log.states[-1]["power"]["source"]
    assert log.states[-1]["energy_j"] == pytest.approx(energy.joules)
    assert log.states[-1]["model"] == {"name": "m"}


def test_the_actions_of_the_governor_are_recorded(tmp_path: Path) -> None:
    ina3221(tmp_path, 5000, 1000)
    governor = FakeGovernor()
    supervisor = Supervisor(
        fake_loop(), {}, instruments=lambda: Instruments(open_power(tmp_path), None, governor), root=tmp_path
    )
    run(supervisor)
    assert governor.observations and len(supervisor.actions) == len(governor.observations)
    assert governor.observations[-1].power_w == pytest.approx(5.0)
    assert governor.observations[-1].latency_ms is None, "no frame was served"
    assert supervisor.state()["governor"] == governor.state()


@pytest.mark.slow
def test_the_frame_rate_uses_the_real_length_of_a_step() -> None:
    """Sensors on a slow bus make steps longer. The frame rate for the governor must still be right."""

    class Slow:
        name = "slow"

        def read(self):
            from arenite.host.energy.base import Temperature

            time.sleep(0.1)
            return Temperature(40.0, "slow", None)

    loop, governor = fake_loop(), FakeGovernor()
    sink = threading.Event()

    def frames() -> None:
        number = 0
        while not sink.wait(0.01):
            now = time.monotonic_ns()
            loop.statistics.add(ServedFrame(number, 0, number, now, {"invoke": (now, now + 1)}, None))
            number += 1

    thread = threading.Thread(target=frames)
    thread.start()
    run(Supervisor(loop, {}, instruments=lambda: Instruments(None, Slow(), governor)))
    sink.set()
    thread.join()
    rates = [observation.fps for observation in governor.observations[1:]]
    assert rates and max(rates) < 250, "at most 100 frames came in a second"


def test_a_change_from_measured_to_estimated_power_adds_a_note(tmp_path: Path) -> None:
    class Lost:
        name = "rapl"
        calls = 0

        def read(self, busy: float) -> Power:
            self.calls += 1
            return Power(5.0, "measured", "rapl") if self.calls < 5 else Power(9.0, "estimated", "profile")

    supervisor = Supervisor(fake_loop(), {}, instruments=lambda: Instruments(Lost()), root=tmp_path)
    run(supervisor)
    assert supervisor.notes == ["rapl can no longer be read; power is estimated from now on."]


def test_a_failing_thermometer_is_reported_once() -> None:
    class Dying:
        name = "zone"
        calls = 0

        def read(self):
            from arenite.host.energy.base import Temperature

            self.calls += 1
            if self.calls > 3:
                raise DeviceError("zone is gone.", "")
            return Temperature(40.0 + self.calls, "zone", 70.0)

    loop = fake_loop()
    supervisor = Supervisor(loop, {}, instruments=lambda: Instruments(None, Dying()))
    run(supervisor)
    assert len(supervisor.notes) == 1 and "zone is gone" in supervisor.notes[0]
    assert supervisor.temperatures == [41.0, 43.0, 43.0]
    assert not loop.stopped


def test_unavailable_instruments_end_the_loop_with_an_error() -> None:
    def refuse() -> Instruments:
        raise UsageError("No power source 'x' can be used here.", "")

    loop = fake_loop()
    supervisor = Supervisor(loop, {}, instruments=refuse)
    supervisor.start()
    with pytest.raises(UsageError, match="No power source"):
        supervisor.stop()
    assert loop.stopped


def test_the_cpu_load_is_computed_from_proc_stat(tmp_path: Path) -> None:
    import os

    ticks = os.sysconf("SC_CLK_TCK")
    (tmp_path / "proc").mkdir()
    stat = tmp_path / "proc/stat"
    stat.write_text("cpu  100 0 100 1000 50 0 0 0 0 0\ncpu0 ...\n")
    earliest_s = time.monotonic()
    load = CpuLoad(tmp_path)
    begin_s = time.monotonic()
    stat.write_text(f"cpu  {100 + ticks} 0 100 2000 90 0 0 0 0 0\n")
    time.sleep(0.1)
    end_s = time.monotonic()
    cores = load.read()
    # One second of work in the time between the two readings.
    assert 1.0 / (time.monotonic() - earliest_s) <= cores <= 1.0 / (end_s - begin_s)
    (tmp_path / "proc/stat").write_text("nonsense\n")
    assert load.read() >= 0.0


def test_a_capped_frequency_is_restored(tmp_path: Path) -> None:
    from arenite.host.governor.levers import CpufreqLever

    policy = tmp_path / "sys/devices/system/cpu/cpufreq/policy0"
    policy.mkdir(parents=True)
    (policy / "scaling_available_frequencies").write_text("600000 1200000 1800000\n")
    limit = policy / "scaling_max_freq"
    limit.write_text("1800000\n")
    lever, limits = CpufreqLever(tmp_path), []

    class Capping(FakeGovernor):
        def step(self, observation: Observation) -> list[Action]:
            lever.move(2)
            limits.append(limit.read_text().strip())
            return super().step(observation)

    instruments = Instruments(None, None, Capping(), (lever.restore,))
    run(Supervisor(fake_loop(), {}, instruments=lambda: instruments, root=tmp_path))
    assert limits and set(limits) == {"600000"}
    assert limit.read_text().strip() == "1800000"
