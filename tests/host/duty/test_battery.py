"""The battery life agrees with closed formulas. Further tests check its limits and warnings."""

from __future__ import annotations

import dataclasses
import math

import pytest

from arenite.errors import ProfileError, UsageError
from arenite.host.duty.battery import YEAR_S, Regulator, battery_life
from arenite.profiles.batteries import Curve, load_battery

CELL = load_battery("lipo_1000")
#: The cell without self-discharge, resistance, loss of charge at high currents, and limit of shelf life.
IDEAL = dataclasses.replace(
    CELL, self_discharge_per_year=0.0, peukert=1.0, resistance=Curve((0.0, 1.0), (0.0, 0.0)), shelf_years=50.0
)


def test_the_life_of_an_ideal_battery_is_charge_over_current() -> None:
    life = battery_life(IDEAL, 3e-3, 3e-3, Regulator("none", 3.0))  # 1 mA from 1000 mAh
    assert life.life_s == pytest.approx(1000 * 3600, rel=1e-6) and life.ends_by == "capacity"
    assert (life.average_ma, life.usable, life.self_discharged) == pytest.approx((1.0, 1.0, 0.0), abs=1e-6)


def test_self_discharge_agrees_with_its_closed_form() -> None:
    leaky = dataclasses.replace(IDEAL, self_discharge_per_year=0.5)
    life = battery_life(leaky, 3e-4, 3e-4, Regulator("none", 3.0))
    rate = math.log(2) / YEAR_S
    assert life.life_s == pytest.approx(math.log1p(rate * 3600 / 1e-4) / rate, rel=1e-6)
    # Self-discharge doubles with every ten kelvin.
    warm = battery_life(leaky, 3e-4, 3e-4, Regulator("none", 3.0), 30.0)
    assert warm.life_s == pytest.approx(math.log1p(2 * rate * 3600 / 1e-4) / (2 * rate), rel=1e-6)


def test_a_switching_regulator_takes_its_power_from_the_battery() -> None:
    flat = dataclasses.replace(IDEAL, voltage=Curve((0.0, 1.0), (4.0, 4.0)))
    life = battery_life(flat, 3.6e-3, 3.6e-3, Regulator("switching", 1.8, 0.9))
    assert life.average_ma == pytest.approx(1.0)
    linear = battery_life(flat, 3.6e-3, 3.6e-3, Regulator("linear", 1.8))
    assert linear.average_ma == pytest.approx(2.0)
    ohmic = Regulator("switching", 1.8, 1.0).current_a(1.0, 3.0, 2.0)
    assert (3.0 - ohmic * 2.0) * ohmic == pytest.approx(1.0)
    assert math.isinf(Regulator("switching", 1.8, 1.0).current_a(1.2, 3.0, 2.0))


def test_a_coin_cell_warns_of_peaks_and_gives_less_charge() -> None:
    coin = load_battery("cr2032")
    small = battery_life(coin, 60e-6, 9e-3, Regulator("none", 3.0))
    large = battery_life(coin, 60e-6, 66e-3, Regulator("none", 3.0))
    assert not small.warnings
    assert any("22 mA" in w and "15 mA" in w for w in large.warnings)
    assert large.usable < small.usable and large.ends_by == "voltage" and large.life_s < small.life_s
    never = battery_life(coin, 60e-6, 0.5, Regulator("switching", 3.3))
    assert (
        never.life_s == 0 and never.ends_by == "never starts" and any("resets" in w for w in never.warnings)
    )


def test_cold_and_a_higher_cut_off_shorten_the_life() -> None:
    alkaline = load_battery("aa_alkaline_pair")
    baseline = battery_life(alkaline, 1e-3, 0.1)
    assert battery_life(alkaline, 1e-3, 0.1, celsius=-15).life_s < 0.7 * baseline.life_s
    high = battery_life(alkaline, 1e-3, 0.1, Regulator(minimum_v=2.4))
    assert high.life_s < 0.8 * baseline.life_s and any("charge is left" in w for w in high.warnings)


def test_shelf_life_current_limits_and_assumptions_are_reported() -> None:
    thionyl = load_battery("lisocl2_aa")
    assert any("10 years" in w for w in battery_life(thionyl, 3e-6, 3e-2).warnings)
    assert any("continuous rating of 50 mA" in w for w in battery_life(thionyl, 0.3, 0.3).warnings)
    assert any(text.startswith("resistance: assumed") for text in battery_life(thionyl, 3e-6, 3e-2).assumed)


def test_errors_name_the_value() -> None:
    with pytest.raises(UsageError, match="-40"):
        battery_life(CELL, 1e-3, 1e-2, celsius=-40)
    with pytest.raises(UsageError, match="below the average"):
        battery_life(CELL, 1e-1, 1e-2)
    with pytest.raises(UsageError, match="average power"):
        battery_life(CELL, 0.0, 1e-2)
    with pytest.raises(UsageError, match="ldo"):
        Regulator("ldo")
    with pytest.raises(UsageError, match="efficiency"):
        Regulator("switching", 3.3, 1.2)
    with pytest.raises(ProfileError):
        load_battery("nothing")
