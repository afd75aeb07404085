"""Models that the driver of a real board's sensor cannot serve are refused before anything is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.firmware.app.drivers.converters import converter_of
from arenite.firmware.app.drivers.driver import PICO
from arenite.firmware.app.drivers.motion_sensors import CHIPS, RATES
from arenite.firmware.sources import APP
from arenite.host.app.generate import generate_app
from arenite.profiles.boards import all_boards, load_board
from tests.host.app.motion_models import motion_model


@pytest.mark.parametrize(
    ("board", "inputs"),
    [("pico", 4), ("zeroUSB", 4), ("nano33ble", 6), ("nucleo_f411re", 6), ("esp32-c3-devkitm-1", 5)],
)
def test_a_converter_takes_no_more_channels_than_it_has_inputs(
    board: str, inputs: int, tmp_path: Path
) -> None:
    many = motion_model(tmp_path / "many.tflite", axes=inputs + 1)
    with pytest.raises(UsageError, match=f"{board} has {inputs} inputs .* has {inputs + 1} channels"):
        generate_app(many, load_board(board), tmp_path / "app", sensor="adc")
    assert not (tmp_path / "app").exists()
    generate_app(
        motion_model(tmp_path / "g.tflite", axes=inputs), load_board(board), tmp_path / "app", sensor="adc"
    )


def test_the_inputs_of_a_driver_are_those_of_its_header() -> None:
    drivers = [d for b in all_boards() if not b.emulated and (d := converter_of(b)) is not None]
    listed = [d for d in drivers if d.framework != PICO]
    assert len(listed) > 10
    for driver in listed:
        text = driver.pins.get("ADC_INPUTS") or driver.pins["ADC_PINS"]
        assert (text.count("{") or len(text.split(","))) == driver.inputs


def test_a_motion_sensor_takes_no_more_than_six_channels(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has 6 inputs .* has 7 channels"):
        generate_app(
            motion_model(tmp_path / "g.tflite", axes=7), load_board("pico"), tmp_path / "app", sensor="imu"
        )


@pytest.mark.parametrize(
    ("board", "chip", "rate", "has"),
    [
        ("nano33ble", None, 10, "25, 50, 100, 200, 400, 800, 1600 Hz"),
        ("nano_33_iot", None, 10, "12.5, 26, 52, 104, 208, 416, 833, 1660 Hz"),
        ("pico", "lsm6dso", 40, "12.5, 26, 52"),
        ("pico", None, 700, "500, 1000 Hz"),
    ],
)
def test_a_rate_that_the_chip_lacks_is_refused(
    board: str, chip: str | None, rate: int, has: str, tmp_path: Path
) -> None:
    prepared = motion_model(tmp_path / "g.tflite", is_raw=True, rate=rate)
    with pytest.raises(UsageError, match=f"takes {rate} samples per second") as error:
        generate_app(prepared, load_board(board), tmp_path / "app", sensor="imu", chip=chip)
    assert has in error.value.problem
    assert ("--chip mpu6050" in str(error.value.hint)) == (rate != 700)
    assert not (tmp_path / "app").exists()


@pytest.mark.parametrize(("board", "rate"), [("nano33ble", 26), ("nano_33_iot", 100), ("pico", 10)])
def test_a_rate_within_5_percent_is_taken(board: str, rate: int, tmp_path: Path) -> None:
    generate_app(
        motion_model(tmp_path / "g.tflite", is_raw=True, rate=rate),
        load_board(board),
        tmp_path / "app",
        sensor="imu",
    )


@pytest.mark.parametrize("chip", [chip for chip in CHIPS if chip != "mpu6050"])
def test_the_rates_are_those_of_the_driver(chip: str) -> None:
    found = re.search(r"rates\[\] = \{([\d, ]+)\}", APP.read(f"{chip}.c"))
    assert found is not None
    assert [float(text) / 10 for text in found[1].split(",")] == list(RATES[chip])
