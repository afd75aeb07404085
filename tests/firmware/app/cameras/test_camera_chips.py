"""The drivers of cameras' chips let them send the frames that the application expects, and tell what went wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import UsageError
from tests.firmware.app.cameras.camera_driver import (
    CLOCK_HZ,
    NO_ANSWER,
    OK,
    OTHER_CHIP,
    ChipDriver,
    frame_for,
    settings_of,
)
from tests.firmware.app.cameras.sim_cameras import CAMERAS

#: Chip, width, height, format, microseconds of a row and of a frame.
CASES = [
    ("hm01b0", 96, 96, "grey", 5000, 1_000_000),
    ("hm01b0", 160, 120, "grey", 250, 100_000),
    ("hm01b0", 320, 240, "grey", 130, 50_000),
    ("hm01b0", 320, 320, "grey", 2000, 1_000_000),
    ("ov7670", 96, 96, "grey", 5000, 1_000_000),
    ("ov7670", 160, 120, "rgb565", 400, 100_000),
    ("ov7670", 320, 240, "uyvy", 3000, 1_000_000),
    ("ov7670", 640, 480, "yuyv", 1500, 1_000_000),
    ("ov2640", 96, 96, "grey", 5000, 1_000_000),
    ("ov2640", 96, 96, "rgb", 9000, 1_000_000),
    ("ov2640", 160, 120, "yuyv", 400, 100_000),
    ("ov2640", 800, 600, "uyvy", 1000, 1_000_000),
    ("ov5640", 96, 96, "grey", 8000, 1_000_000),
    ("ov5640", 320, 240, "rgb565be", 3000, 1_000_000),
    ("ov5640", 224, 224, "bgr", 2000, 500_000),
    ("gc2145", 96, 96, "grey", 95, 66_666),
    ("gc2145", 96, 96, "grey", 780, 1_000_000),
    ("gc2145", 160, 120, "rgb565be", 450, 100_000),
    ("gc2145", 320, 240, "uyvy", 400, 100_000),
    ("gc2145", 640, 480, "yuyv", 300, 200_000),
]


@pytest.mark.parametrize(("name", "width", "height", "format", "row_us", "frame_us"), CASES)
def test_the_chip_sends_the_wanted_frames(
    name: str, width: int, height: int, format: str, row_us: int, frame_us: int, tmp_path: Path
) -> None:
    frame = frame_for(name, width, height, format)
    shortest, longest = frame.row_us_for(frame_us)
    assert shortest <= row_us <= longest
    driver = ChipDriver(
        tmp_path, name, CAMERAS[name](CLOCK_HZ), settings_of(frame, width, height, row_us, frame_us)
    )
    assert driver.chip.sent() is None
    assert (driver.start(), driver.told) == (OK, "")
    sent = driver.chip.sent()
    assert sent is not None
    assert (sent.width, sent.height, sent.pixels) == (frame.width, frame.height, frame.sends)
    assert sent.row_us == pytest.approx(row_us, rel=0.03)
    assert sent.frame_us == pytest.approx(frame_us, rel=0.03)
    assert 0 <= frame.left <= frame.width - width and 0 <= frame.top <= frame.height - height


def test_one_data_pin_needs_the_slowest_clock(tmp_path: Path) -> None:
    settings = settings_of(frame_for("hm01b0", 96, 96, "grey"), 96, 96, 3000, 500_000)
    driver = ChipDriver(tmp_path, "hm01b0", CAMERAS["hm01b0"](CLOCK_HZ), settings, bits=1)
    assert driver.start() == OK
    sent = driver.chip.sent()
    assert sent is not None and sent.row_us == pytest.approx(3000, rel=0.01)


@pytest.fixture(params=list(CAMERAS))
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> ChipDriver:
    name = request.param
    frame = frame_for(name, 96, 96, "grey")
    settings = settings_of(frame, 96, 96, min(5000, frame.row_us[1]), 1_000_000)
    return ChipDriver(tmp_path, name, CAMERAS[name](CLOCK_HZ), settings)


def test_an_absent_chip_is_told_in_words(driver: ChipDriver) -> None:
    driver.chip.is_plugged = False
    assert driver.start() == NO_ANSWER
    assert "No camera answers: check its supply" in driver.told


def test_another_chip_is_told_in_words(driver: ChipDriver) -> None:
    first = min(driver.chip.identity)
    driver.chip.registers[first] ^= 0x40
    assert driver.start() == OTHER_CHIP
    assert "Another camera answers: its number is" in driver.told and driver.chip.resets == 0


@pytest.mark.parametrize("writes", [2, 3, 8])
def test_a_chip_that_goes_away_is_told(driver: ChipDriver, writes: int) -> None:
    driver.chip.writes_left = writes
    assert driver.start() == NO_ANSWER
    assert "stopped answering" in driver.told


def test_frames_that_a_chip_does_not_have_are_refused() -> None:
    with pytest.raises(UsageError, match="HM01B0 has no pixels of the format rgb"):
        frame_for("hm01b0", 96, 96, "rgb")
    with pytest.raises(UsageError, match="OV7670 has at most 640x480"):
        frame_for("ov7670", 96, 481, "grey")
