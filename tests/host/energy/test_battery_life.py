"""Tests of the battery life from a measured or estimated energy."""

from __future__ import annotations

import pytest

from arenite.errors import ProfileError, UsageError
from arenite.host.duty.battery import Regulator
from arenite.host.duty.battery import battery_life as duty_battery_life
from arenite.host.energy.battery_life import battery_life
from arenite.profiles.batteries import load_battery
from arenite.profiles.boards import load_board

ENERGY = {
    "energy_uj_per_inference": {"median": 900.0, "kind": "measured"},
    "duration_ms": {"median": 30.0},
    "supply_v": 3.0,
    "peak_power_w": 0.036,
    "sleep_current_a": 2e-6,
}


def test_the_life_follows_from_average_and_peak_power():
    life = battery_life(ENERGY, load_board("nucleo_l4r5zi"), "cr2032", 60.0)
    average = 900e-6 / 60 + 2e-6 * 3.0 * (60 - 0.03) / 60
    expected = duty_battery_life(load_battery("cr2032"), average, 0.036, Regulator("none", 3.0))
    assert life["average_power_w"] == pytest.approx(average)
    assert life["life_days"] == pytest.approx(expected.days)
    assert (life["kind"], life["ends_by"]) == ("estimated", expected.ends_by)
    assert "measured" in life["sleep_current_a"]["source"]


def test_the_kind_of_an_estimate_is_kept():
    assumed = {**ENERGY, "energy_uj_per_inference": {"median": 900.0, "kind": "assumed"}, "supply_v": 3.6}
    life = battery_life(assumed, load_board("nucleo_l4r5zi"), "cr2032", 60.0, sleep_a=1e-6)
    assert life["kind"] == "assumed"
    assert life["sleep_current_a"] == {"value": 1e-6, "source": "as given"}
    assert "gives" in life["warnings"][0] and "3.6 V" in life["warnings"][0]


def test_an_unmeasured_sleep_current_is_from_the_profile():
    energy = {**ENERGY, "sleep_current_a": None}
    life = battery_life(energy, load_board("nucleo_l4r5zi"), "cr2032", 60.0)
    assert life["sleep_current_a"]["value"] == pytest.approx(2.8e-6)
    assert life["sleep_current_a"]["source"].startswith("assumed: ")


def test_missing_figures_raise_an_error():
    board = load_board("qemu_mps2_an386")
    with pytest.raises(UsageError, match=r"sleep current of .* was not measured"):
        battery_life({**ENERGY, "sleep_current_a": None}, board, "cr2032", 60.0)
    with pytest.raises(ProfileError):
        battery_life(ENERGY, board, "cr9999", 60.0)
    with pytest.raises(UsageError, match="duration of an inference is not known"):
        battery_life({**ENERGY, "duration_ms": None}, board, "cr2032", 60.0)
