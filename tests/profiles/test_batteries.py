"""Tests of the battery profiles: each one is complete, plausible and has sources, and errors name the field."""

from __future__ import annotations

import pytest

from arenite.errors import ProfileError
from arenite.profiles.batteries import BATTERY_DIRECTORY, battery_names, load_battery, parse_battery

REQUIRED = {"cr2032", "cr123a", "aa_alkaline_pair", "aa_lithium_pair", "lipo_500", "lipo_1000", "lipo_2000",
          "li_ion_18650", "lisocl2_aa"}  # fmt: skip
#: The parts of a profile that must name a source.
FIGURES = {"capacity", "limits", "self_discharge", "shelf", "voltage", "resistance", "rate", "temperature"}


def test_all_required_batteries_have_a_profile() -> None:
    assert set(battery_names()) >= REQUIRED


@pytest.mark.parametrize("name", battery_names())
def test_each_profile_is_plausible_and_every_figure_has_a_source(name: str) -> None:
    battery = load_battery(name)
    assert set(battery.sources) == FIGURES and all(battery.sources.values())
    assert battery.continuous_ma <= battery.pulse_ma
    assert battery.cutoff_v < battery.nominal_v <= battery.voltage.y[0]
    # From 20 to 40 °C the self-discharge grows, at most to four times the rate.
    assert 0 < battery.loss_per_s(40) / battery.loss_per_s(20) - 1 < 3.01
    low_load, high_load = (
        battery.capacity_as(ma / 1000, 20) for ma in (battery.rated_ma, battery.continuous_ma)
    )
    assert high_load < low_load <= battery.capacity_mah * 3.6 * 1.001
    assert battery.capacity_as(1e-3, battery.coldest_c) < battery.capacity_as(1e-3, 20)
    assert battery.ohm(0.95, 20) > battery.ohm(0.1, 20) * 0.999 > 0
    assert battery.ohm(0.5, battery.coldest_c) > battery.ohm(0.5, 20)


def test_capacity_by_peukert_law_and_by_rate_table() -> None:
    cell = load_battery("lipo_1000")
    assert cell.capacity_as(0.2, 20) == pytest.approx(3600)
    assert cell.capacity_as(1.0, 20) == pytest.approx(3600 * 5**-0.04)
    alkaline = load_battery("aa_alkaline_pair")
    assert alkaline.capacity_as(0.5, 20) == pytest.approx(1600 * 3.6, rel=1e-3)
    # Halfway between 100 and 500 mA on a logarithmic scale.
    assert alkaline.capacity_as(0.05**0.5, 20) == pytest.approx(2100 * 3.6, rel=1e-3)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("capacity_mah = 235", "capacity_mah = -1", "capacity_mah"),
        ("capacity_mah = 235", "", "capacity_mah"),
        ("rechargeable = false", 'rechargeable = "no"', "rechargeable"),
        ("cutoff_v = 2.0", "cutoff_v = 2.9", "open_v"),
        ("shelf_years = 10", "shelf_years = 10\nshelf_life = 3", "shelf_life"),
        ("[resistance]\ndepth = [0,", "[resistance]\ndepth = [0.6,", "ohm"),
        ("ma = [0.19, 0.5,", "ma = [0.5, 0.19,", "fraction"),
        ("title = ", "title ", "TOML"),
        ("[temperature]", "[temp]", "temperature"),
        ("ohm = [10,", "ohm = [true,", "ohm"),
    ],
)
def test_an_invalid_profile_raises_an_error_that_names_the_field(old: str, new: str, field: str) -> None:
    text = (BATTERY_DIRECTORY / "cr2032.toml").read_text("utf-8")
    assert old in text
    with pytest.raises(ProfileError, match=field):
        parse_battery(text.replace(old, new), "mine.toml")


def test_an_unknown_battery_suggests_a_similar_name() -> None:
    with pytest.raises(ProfileError, match="cr2032"):
        load_battery("cr2023")
