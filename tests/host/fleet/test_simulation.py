"""The simulation with a real broker: no event is lost or doubled through kills, and bad releases are stopped."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from arenite.host.fleet.rollout_settings import RolloutSettings
from benchmarks.fleet.__main__ import failures
from benchmarks.fleet.simulation import Simulation, SimulationSettings
from tests.free_port import free_port

pytestmark = pytest.mark.skipif(
    shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin:/bin:/usr/local/bin") is None,
    reason="no mosquitto",
)
#: Waves for some dozen devices. The first one has a device of each board.
ROLLOUT = RolloutSettings(waves=(200, 1000), soak_s=3600, min_inferences=100)


def simulate(folder: Path, settings: SimulationSettings) -> list[str]:
    result = Simulation(settings, folder, free_port(), print).run()
    assert result.recorded > settings.devices * settings.hours
    assert result.kills
    return failures(result, settings)


def test_a_bad_release_is_stopped_while_processes_are_killed(tmp_path: Path) -> None:
    settings = SimulationSettings(
        devices=40, hours=3.5, processes=1, devices_per_connection=4, kills_per_step=0.4, rollout=ROLLOUT,
        releases=("wrong-bytes",),
    )  # fmt: skip
    texts = simulate(tmp_path, settings)
    # Here the last release is a bad one.
    assert texts == ["the good release is rolled_back", "the devices run {'1.0.0': 40}"]


@pytest.mark.slow
def test_bad_releases_are_stopped_and_a_good_one_reaches_all_devices(tmp_path: Path) -> None:
    # The test above has the release with wrong bytes.
    settings = SimulationSettings(
        devices=40, hours=12, devices_per_connection=1, rollout=ROLLOUT, seed=1,
        releases=("slow", "drifting", "2.0.0"),
    )  # fmt: skip
    assert simulate(tmp_path, settings) == []


@pytest.mark.slow
def test_the_canary_wave_of_a_larger_fleet_has_one_device_in_a_hundred(tmp_path: Path) -> None:
    settings = SimulationSettings(
        devices=400, hours=12, devices_per_connection=20, seed=2, kills_per_step=0.2,
        releases=("drifting", "2.0.0"), rollout=RolloutSettings(soak_s=3600, min_inferences=100),
    )  # fmt: skip
    assert simulate(tmp_path, settings) == []


@pytest.mark.slow
def test_two_servers_share_the_work(tmp_path: Path) -> None:
    settings = SimulationSettings(
        devices=40, hours=9, processes=1, servers=2, devices_per_connection=4, kills_per_step=0.4, rollout=ROLLOUT,
        releases=("wrong-bytes", "2.0.0"), seed=3,
    )  # fmt: skip
    assert simulate(tmp_path, settings) == []
