"""The governor keeps limits, moves levers in order and rarely, restores quality, and survives faults."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.errors import DeviceError
from arenite.host.governor.governor import Governor
from arenite.host.governor.interface import Limits, Observation
from arenite.host.governor.levers import StepLever, rest_lever
from tests.host.governor.toy_device import ToyDevice, drive, governor_for


def test_without_a_limit_no_lever_moves() -> None:
    toy = ToyDevice()
    assert drive(toy, governor_for(toy, Limits()), 120) == []


def test_a_budget_that_is_enough_ends_at_full_quality() -> None:
    toy = ToyDevice()
    governor = governor_for(toy, Limits(power_w=9.0), idle_w=2.0, max_w=6.0)
    drive(toy, governor, 120)
    assert [lever.level for lever in governor.levers] == [0, 0, 0]


def test_a_budget_is_used_within_three_percent_and_not_exceeded() -> None:
    toy = ToyDevice()
    governor = governor_for(toy, Limits(power_w=3.5), idle_w=2.0, max_w=6.0)
    drive(toy, governor, 90)
    powers = []
    for second in range(91, 400):
        governor.step(toy.see(float(second)))
        powers.append(toy.watts)
    assert max(powers) <= 3.5
    assert sum(powers) / len(powers) == pytest.approx(3.5, rel=0.03) or toy.fps == 30.0


def test_a_budget_above_full_load_starts_at_the_full_rate() -> None:
    toy = ToyDevice(joules=0.1)
    governor = governor_for(toy, Limits(power_w=6.5), idle_w=2.0, max_w=6.0)
    assert governor.begin() == [] and toy.fps == 30.0


def test_a_start_is_corrected_within_two_seconds_and_keeps_the_budget() -> None:
    """A frame of 10 ms keeps the device busy for 30 % of the time at 30 frames a second. In the worst case this takes
    2.0 + 0.3 x 4 = 3.2 W, so 3.5 W allow 30 frames from the first measurement on."""
    toy = ToyDevice(idle=2.0, joules=0.03, frame_s=0.010)
    governor = governor_for(toy, Limits(power_w=3.5), idle_w=2.0, max_w=6.0)
    governor.begin()
    assert toy.fps < 6
    rates, powers = [], []
    for second in range(1, 21):
        governor.step(toy.see(float(second)))
        rates.append(toy.fps)
        powers.append(toy.watts)
    assert rates[1] >= 0.9 * 30 and min(rates[1:]) >= 0.9 * 30
    assert max(powers) <= 3.5


@pytest.mark.parametrize("joules", [0.05, 0.1, 0.2])
def test_a_start_from_a_wrong_estimate_keeps_the_budget(joules: float) -> None:
    """The host profile states at most 6 W, but during a frame of 30 ms the device takes up to 6.7 W more than the idle
    power."""
    toy = ToyDevice(idle=2.0, joules=joules, frame_s=0.030)
    governor = governor_for(toy, Limits(power_w=3.5), idle_w=2.0, max_w=6.0)
    governor.begin()
    powers = []
    for second in range(1, 61):
        governor.step(toy.see(float(second)))
        powers.append(toy.watts)
    assert max(powers) <= 3.5


def test_the_frame_rate_is_reduced_first() -> None:
    toy = ToyDevice()
    governor = governor_for(toy, Limits(power_w=4.7), idle_w=2.0)
    drive(toy, governor, 240)
    assert toy.fps < 30 and toy.factors == {"resolution": 1.0, "precision": 1.0}


def test_other_levers_move_before_the_frame_rate_is_very_low() -> None:
    toy = ToyDevice()
    governor = governor_for(toy, Limits(power_w=2.6), idle_w=2.0)
    drive(toy, governor, 300)
    assert toy.rate > 12 and toy.factors["precision"] < 1


def test_latency_is_kept_by_less_work_per_frame() -> None:
    toy = ToyDevice(frame_s=0.060)
    governor = governor_for(toy, Limits(latency_ms=50))
    actions = drive(toy, governor, 60)
    assert toy.see(61.0).latency_ms <= 50  # type: ignore[operator]
    assert {action.lever for action in actions if action.before != action.after} & {"resolution", "precision"}
    assert "latency" in actions[0].reason


def test_quality_is_restored_when_the_budget_allows_it() -> None:
    toy = ToyDevice(joules=0.2)
    governor = governor_for(toy, Limits(power_w=4.0), idle_w=2.0)
    drive(toy, governor, 200)
    reduced_factors = dict(toy.factors)
    assert min(reduced_factors.values()) < 1
    toy.joules = 0.04  # frames take less energy, for example because the scene is simpler
    drive(toy, governor, 500, start=200)
    assert toy.rate == pytest.approx(30) and min(toy.factors.values()) == 1.0


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    idle=st.floats(0.5, 10), joules=st.floats(0.01, 0.5), frame=st.floats(0.01, 0.12), share=st.floats(0.1, 1.2),
    noise=st.floats(0, 0.02),
)  # fmt: skip
def test_constant_conditions_cause_few_actions(
    idle: float, joules: float, frame: float, share: float, noise: float
) -> None:
    toy = ToyDevice(idle, joules, frame, noise)
    full_power_w = joules * min(30.0, 1 / frame)
    limits = Limits(power_w=idle + share * full_power_w)
    governor = governor_for(toy, limits, idle_w=idle, max_w=idle + 1.5 * full_power_w)
    drive(toy, governor, 400)
    times = [action.t_s for action in governor.log]
    max_per_minute = max((sum(t <= u < t + 60 for u in times) for t in times), default=0)
    late_actions = sum(t > 240 for t in times)
    assert max_per_minute <= 24
    assert late_actions <= 16  # in 160 s


ANY = st.floats(allow_nan=True, allow_infinity=True)
MAYBE = st.one_of(st.none(), ANY)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(ANY, MAYBE, MAYBE, MAYBE), max_size=40))
def test_invalid_sensor_values_cause_no_error(rows: list[tuple[float, float, float, float]]) -> None:
    toy = ToyDevice()
    governor = governor_for(toy, Limits(4.0, 70.0, 50.0))
    for second, (fps, latency, power, heat) in enumerate(rows, 1):
        governor.step(Observation(float(second), fps, latency, power, heat, heat))
        json.dumps(governor.state(), allow_nan=False)
    assert all(0 <= lever.level < lever.levels for lever in governor.levers)


def test_a_lost_power_sensor_keeps_the_last_safe_setting() -> None:
    toy = ToyDevice()
    governor = governor_for(toy, Limits(power_w=3.5), idle_w=2.0)
    drive(toy, governor, 150)
    levels_before = [lever.level for lever in governor.levers]
    rate = toy.rate
    for second in range(151, 400):
        governor.step(replace(toy.see(float(second)), power_w=None))
        assert toy.watts <= 3.5
    assert [lever.level for lever in governor.levers] == levels_before and toy.rate == rate
    assert "power cannot be read" in governor.state()["note"]
    drive(toy, governor, 60, start=400)
    assert governor.state()["note"] == ""


def test_a_lost_thermometer_raises_no_level() -> None:
    toy = ToyDevice()
    governor = governor_for(toy, Limits(temperature_c=60.0))
    for second in range(1, 60):
        governor.step(replace(toy.see(float(second)), temperature_c=40 + 0.35 * second))
    levels_before = [lever.level for lever in governor.levers]
    assert any(levels_before)
    for second in range(60, 300):
        governor.step(replace(toy.see(float(second)), temperature_c=None))
    levels_after = [lever.level for lever in governor.levers]
    assert all(
        level_after >= level_before
        for level_after, level_before in zip(levels_after, levels_before, strict=True)
    )
    assert "temperature cannot be read" in governor.state()["note"]


def test_other_levers_keep_the_limit_if_one_fails() -> None:
    toy = ToyDevice(joules=0.3, frame_s=0.02)

    def refuse(label: object) -> None:
        raise DeviceError("the delegate does not take int8.", "Use float16.")

    levers = toy.levers(("fps", "resolution"))
    levers.append(StepLever("precision", ["float", "int8"], [1.0, 0.3], refuse))
    governor = Governor(Limits(power_w=4.0), levers, idle_w=2.0)
    actions = drive(toy, governor, 200)
    refused = [action for action in actions if "refused" in action.reason]
    assert len(refused) == 1 and refused[0].before == refused[0].after == "float"
    assert "does not take int8" in refused[0].reason
    assert governor.state()["refused"] == ["precision"]
    assert toy.watts <= 4.0 and toy.rate > 5


def test_an_impossible_limit_is_noted_at_the_cheapest_setting() -> None:
    toy = ToyDevice(idle=5.0)
    governor = governor_for(toy, Limits(power_w=4.0))
    drive(toy, governor, 60)
    assert toy.fps == 1.0 and "no setting keeps the limits" in governor.state()["note"]


def test_a_host_that_saves_power_asleep_rests_between_bursts() -> None:
    """A host takes 1.8 W while it is awake and idle, and 0.3 W asleep. Bursts with rests give more frames than a
    constant low rate."""

    def frames(saves: float) -> tuple[float, float, float]:
        """Return the number of frames, the mean power and the last duty cycle, if sleep saves ``saves`` watts."""
        toy, duty = ToyDevice(idle=1.8, joules=0.03, frame_s=0.02), [1.0]
        levers = toy.levers(("fps",))
        levers.append(rest_lever(lambda label: duty.__setitem__(0, float(label)), saves, cycle_s=5.0))
        governor = Governor(Limits(power_w=1.95), levers, idle_w=1.8, max_w=3.0)
        governor.begin()
        total = joules = 0.0
        for second in range(1, 600):
            observation = toy.see(float(second))
            power = duty[0] * toy.watts + (1 - duty[0]) * (1.8 - saves)
            governor.step(Observation(float(second), duty[0] * toy.rate, 20.0, power))
            if second > 200:
                total += duty[0] * toy.rate
                joules += power
            assert observation.power_w is not None
        return total, joules / 399, duty[0]

    awake, _, never = frames(0.0)
    rested, watts, duty = frames(1.5)
    assert never == 1.0 and duty < 1.0
    assert rested > 1.5 * awake and watts <= 1.95


def test_the_log_has_reasons_and_the_state_is_json() -> None:
    toy = ToyDevice()
    governor = governor_for(toy, Limits(power_w=3.0, temperature_c=80.0))
    for second in range(1, 120):
        governor.step(replace(toy.see(float(second)), temperature_c=45.0, trip_c=95.0))
    assert governor.log and all(action.reason for action in governor.log)
    assert set(governor.log[0].to_json()) == {"t_s", "lever", "from", "to", "reason"}
    state = json.loads(json.dumps(governor.state(), allow_nan=False))
    assert state["levers"]["fps"] == toy.fps and state["bound_c"] == 80.0
    assert governor.forecast is not None and not math.isnan(governor.forecast.rms_k)
