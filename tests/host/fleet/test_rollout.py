"""Rollouts of real agents in virtual time: good releases reach all devices, bad ones are stopped in the first wave."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.host.fleet.audit import read_audit
from arenite.host.fleet.database import Database
from arenite.host.fleet.open_database import open_database
from arenite.host.fleet.registry import ReleaseImage, add_release
from arenite.host.fleet.rollout import (
    abort_rollout,
    device_states,
    pause_rollout,
    resume_rollout,
    start_rollout,
)
from arenite.host.fleet.rollout_engine import advance_rollouts
from benchmarks.fleet import simulated_device
from tests.host.fleet.direct_fleet import SETTINGS, DirectFleet

DEVICES = 52
CANARIES = 8


@pytest.fixture
def fleet(database: Database, tmp_path: Path) -> DirectFleet:
    fleet = DirectFleet(database, tmp_path / "devices", DEVICES)
    fleet.run(1.5)
    return fleet


def releases(fleet: DirectFleet) -> Counter[str]:
    return Counter(device.installer.release for device in fleet.devices.values())


def actions(fleet: DirectFleet, number: int) -> list[str]:
    with fleet.database.transaction() as transaction:
        return [entry["action"] for entry in read_audit(transaction, number)]


def test_a_good_release_reaches_all_devices_in_waves(fleet: DirectFleet) -> None:
    number = fleet.start("2.0.0")
    fleet.run(0.25)
    touched = fleet.touched(number)
    assert len(touched) == CANARIES
    assert len({fleet.devices[name].identity.board for name in touched}) == CANARIES
    sizes = {len(touched)}
    while fleet.rollout(number).state == "running":
        fleet.run(0.25)
        sizes.add(len(fleet.touched(number)))
        assert fleet.clock.ms - fleet.rollout(number).created_ms < 24 * 3_600_000
    assert sizes == {8, 20, 52}
    assert fleet.rollout(number).state == "done"
    assert releases(fleet) == {"2.0.0": DEVICES}
    expected = ["start", *["choose", "installed", "pass"] * 2, "choose", "installed", "done"]
    assert actions(fleet, number) == expected
    assert fleet.stored() == fleet.recorded()
    # Each wave took at least its time of soaking.
    assert fleet.clock.ms - fleet.rollout(number).created_ms > 3 * 1000 * SETTINGS.soak_s


@pytest.mark.parametrize(
    ("release", "gate"),
    [
        ("wrong-bytes", "golden on qemu_mps2_an505"),
        ("slow", "latency on "),
        ("drifting", "drift.classes on "),
        pytest.param("crashing", "crashes on ", marks=pytest.mark.slow),
        pytest.param("dead", "silence on ", marks=pytest.mark.slow),
    ],
)
def test_a_bad_release_is_stopped_in_the_first_wave(fleet: DirectFleet, release: str, gate: str) -> None:
    number = fleet.start(release)
    # Dead devices never return, so the roll back does not end.
    rollout = fleet.run_until(number, "rolling_back" if release == "dead" else "rolled_back")
    assert gate in rollout.reason
    assert rollout.wave == 0
    touched = fleet.touched(number)
    assert len(touched) == CANARIES
    if release == "dead":
        assert releases(fleet) == {"1.0.0": DEVICES - CANARIES, "dead": CANARIES}
        return
    assert releases(fleet) == {"1.0.0": DEVICES}
    fleet.run(6)
    assert fleet.touched(number) == touched
    assert releases(fleet) == {"1.0.0": DEVICES}
    assert fleet.stored() == fleet.recorded()


@pytest.mark.slow
def test_a_rollout_goes_on_while_the_world_drifts(
    fleet: DirectFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All devices see other classes than the calibration data, with the old release as well as with the new one."""
    drifting = dataclasses.replace(simulated_device.GOOD, class_weights=(150, 150, 700))
    monkeypatch.setattr(simulated_device, "GOOD", drifting)
    fleet.clock.ms += 2 * 24 * 3_600_000  # the time without drift is no longer compared
    fleet.run(6)
    number = fleet.start("2.0.0")
    fleet.run_until(number, "done")


@pytest.mark.slow
def test_a_paused_rollout_chooses_nobody_but_its_gates_hold(fleet: DirectFleet) -> None:
    number = fleet.start("slow")
    fleet.run(0.25)
    with fleet.database.transaction() as transaction:
        pause_rollout(transaction, fleet.clock.ms, "ann", number, "lunch")
        with pytest.raises(UsageError, match="is paused, so it cannot be paused"):
            pause_rollout(transaction, fleet.clock.ms, "ann", number, "")
    assert fleet.run_until(number, "rolled_back").reason.startswith("latency")
    good = fleet.start("2.0.0")
    fleet.run(0.25)
    with fleet.database.transaction() as transaction:
        pause_rollout(transaction, fleet.clock.ms, "ann", good, "lunch")
    fleet.run(20)
    assert (fleet.rollout(good).state, len(fleet.touched(good))) == ("paused", CANARIES)
    with fleet.database.transaction() as transaction:
        resume_rollout(transaction, fleet.clock.ms, "ann", good)
    fleet.run_until(good, "done")
    assert actions(fleet, good)[:5] == ["start", "choose", "paused", "running", "installed"]


def test_an_aborted_rollout_puts_all_devices_back(fleet: DirectFleet) -> None:
    number = fleet.start("2.0.0")
    while len(fleet.touched(number)) < DEVICES:
        fleet.run(0.25)
    # Some devices are still installing the release.
    with fleet.database.transaction() as transaction:
        assert len(abort_rollout(transaction, fleet.clock.ms, "ann", number)) == DEVICES
    assert fleet.run_until(number, "rolled_back").reason == "aborted by ann"
    assert releases(fleet) == {"1.0.0": DEVICES}
    with fleet.database.transaction() as transaction:
        assert device_states(transaction, number) == {"returned": DEVICES}
        with pytest.raises(UsageError, match="cannot be aborted"):
            abort_rollout(transaction, fleet.clock.ms, "ann", number)


@pytest.mark.slow
def test_devices_that_were_offline_follow_in_the_last_wave(fleet: DirectFleet) -> None:
    offline = {name for k, name in enumerate(fleet.devices) if k % 10 == 0}
    fleet.unreachable = set(offline)
    fleet.run(3)
    number = fleet.start("2.0.0")
    fleet.run_until(number, "done")
    assert releases(fleet) == {"2.0.0": DEVICES - len(offline), "1.0.0": len(offline)}
    fleet.unreachable = set()
    fleet.run(2)
    assert releases(fleet) == {"2.0.0": DEVICES}
    assert fleet.stored() == fleet.recorded()


@pytest.mark.slow
def test_an_outage_of_the_server_condemns_no_release(fleet: DirectFleet) -> None:
    number = fleet.start("2.0.0")
    fleet.run(0.5)
    for hours in (3, 1.25):
        fleet.run(hours, server=False)
        fleet.run(0.5)
    assert fleet.run_until(number, "done").reason == ""
    assert fleet.stored() == fleet.recorded()


@pytest.mark.slow
def test_a_wave_without_devices_pauses(fleet: DirectFleet) -> None:
    fleet.unreachable = set(fleet.devices)
    fleet.run(3)
    number = fleet.start("2.0.0")
    assert "takes too long" in fleet.run_until(number, "paused").reason
    assert fleet.touched(number) == set()


def test_a_release_without_an_image_for_a_board_leaves_it_alone(fleet: DirectFleet) -> None:
    fleet.add_release("2.0.0", ["qemu_microbit", "qemu_riscv32"])
    with fleet.database.transaction() as transaction:
        number = start_rollout(transaction, fleet.clock.ms, "ann", "2.0.0", "default", SETTINGS)
    fleet.run_until(number, "done")
    boards = Counter(d.identity.board for d in fleet.devices.values() if d.installer.release == "2.0.0")
    assert boards == {"qemu_microbit": 7, "qemu_riscv32": 6}


def test_a_group_has_one_rollout(fleet: DirectFleet) -> None:
    number = fleet.start("2.0.0")
    with pytest.raises(UsageError, match=f"has the rollout {number} of 2.0.0, which is running"):
        fleet.start("3.0.0")
    with fleet.database.transaction() as transaction:
        for release, group, words in (("9", "default", "no release '9'"), ("1.0.0", "lab", "group 'lab'")):
            with pytest.raises(UsageError, match=words):
                start_rollout(transaction, fleet.clock.ms, "ann", release, group, SETTINGS)


def test_a_release_for_other_boards_does_not_start(fleet: DirectFleet) -> None:
    with fleet.database.transaction() as transaction:
        add_release(transaction, fleet.clock.ms, "ann", "4.0.0", [ReleaseImage("raspi", "0" * 64)])
        with pytest.raises(UsageError, match="has images for raspi, but no device of the group 'default'"):
            start_rollout(transaction, fleet.clock.ms, "ann", "4.0.0", "default", SETTINGS)


@pytest.mark.slow
def test_another_server_goes_on(fleet: DirectFleet, database_url: str) -> None:
    """Each step is taken by a server that was just started."""
    number = fleet.start("2.0.0")
    while fleet.rollout(number).state == "running":
        fleet.database.close()
        other = open_database(database_url)
        advance_rollouts(other, fleet.clock)
        other.close()
        fleet.run(0.25)
    assert fleet.rollout(number).state == "done"
    assert actions(fleet, number).count("choose") == 3
