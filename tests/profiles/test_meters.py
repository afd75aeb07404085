"""Tests of the meter profiles: each one is complete, and errors name the field."""

from __future__ import annotations

import re

import pytest

from arenite.errors import ProfileError
from arenite.host.energy.meter_discovery import PPK2, ST_SERIAL
from arenite.host.energy.meters.ina_chip import CHIPS
from arenite.host.energy.meters.open import METERS
from arenite.profiles.meters import METER_DIRECTORY, load_meter, meter_names, parse_meter

PPK2_TEXT = (METER_DIRECTORY / "ppk2.toml").read_text("utf-8")


@pytest.mark.parametrize("name", meter_names())
def test_every_profile_is_complete(name: str) -> None:
    meter = load_meter(name)
    assert meter.driver in METERS
    # The source of the accuracy says which figures are not from the manufacturer.
    assert meter.sources["accuracy"]
    assert all(r.limit_a(r.max_a) < r.max_a for r in meter.ranges)
    # The error limit does not decrease within a range.
    for r in meter.ranges:
        assert r.limit_a(0) <= r.limit_a(r.max_a)


def test_every_driver_has_a_profile() -> None:
    assert set(METERS) - {load_meter(name).driver for name in meter_names()} == set()


def test_profiles_agree_with_the_drivers() -> None:
    for chip in CHIPS.values():
        meter = load_meter(chip.name)
        assert meter.ranges[0].gain == chip.gain_error
        assert meter.samples_per_s == pytest.approx(1 / chip.conversion_s, abs=1)
        range_v = {"ina219": 0.32, "ina226": 0.08192, "ina228": 0.16384}[chip.name]
        assert meter.ranges[-1].max_a == pytest.approx(range_v / 0.1)
    assert load_meter("ppk2").usb == ("{:04x}:{:04x}".format(*PPK2),)
    assert load_meter("lpm01a").usb == ("{:04x}:{:04x}".format(*ST_SERIAL),)


def test_the_smallest_range_that_contains_the_current_is_used() -> None:
    ppk2 = load_meter("ppk2")
    assert ppk2.range_of(1e-6).max_a == 50e-6
    assert ppk2.range_of(-60e-6).max_a == 500e-6
    assert ppk2.range_of(99.0) is ppk2.ranges[-1]
    assert ppk2.limit_a(10e-3) == pytest.approx(0.1 * 10e-3 + 20e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("gain = 0.1\n", "gain = 10\n"), "'gain' must be a number"),
        (("max_a = 5e-05", "max_a = 5"), "ranges must ascend"),
        (("least_v = 0.8", "least_v = 8"), "below most_v"),
        (('connection = "serial"', 'connection = "telepathy"'), "must be one of serial"),
        (("marks = 8", "marks = 8\ncolour = 1"), "unknown field 'colour'"),
        (("accuracy = ", "precision = "), r"\[sources\] must have"),
        (("[[range]]", "[[ranges]]"), r"at least one \[\[range\]\]"),
        (('name = "ppk2"', "name = 2"), "'name' must be text"),
    ],
)
def test_an_invalid_profile_raises_an_error(change: tuple[str, str], message: str) -> None:
    assert change[0] in PPK2_TEXT
    with pytest.raises(ProfileError) as error:
        parse_meter(PPK2_TEXT.replace(*change), "ppk2.toml")
    assert re.search(message, f"{error.value.problem} {error.value.hint}")


def test_an_unknown_meter_suggests_similar_names() -> None:
    with pytest.raises(ProfileError, match="no meter profile 'otii-arch'") as error:
        load_meter("otii-arch")
    assert "otii-arc" in error.value.hint
