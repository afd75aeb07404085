"""The bus of cameras with Arduino's library Wire: it is compiled for this computer with the declarations of that
library, and lets the drivers of the chips set up simulated chips."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from arenite.firmware.sources import APP
from tests.firmware.app.cameras.camera_driver import (
    CLOCK_HZ,
    NO_ANSWER,
    OK,
    ChipDriver,
    frame_for,
    settings_of,
)
from tests.firmware.app.cameras.sim_cameras import CAMERAS
from tests.firmware.cross_compiler import DECLARED

#: The library: bytes wait until a transfer ends, and a chip answers at its own address. A transfer of a register's
#: number alone chooses what is read next.
_WIRE = """
#include <Arduino.h>
#include <Wire.h>
#include <string.h>
extern "C" {
extern uint32_t (*on_write)(const uint8_t *, uint32_t);
extern uint32_t (*on_read)(const uint8_t *, uint32_t, uint8_t *);
}
TwoWire Wire;
static uint8_t sent[32], number[2], received;
static uint32_t count, clock_hz;
static bool has_begun, is_open, has_received;
static uint8_t to;
void delay(unsigned long) {}
void TwoWire::begin() { has_begun = true; }
void TwoWire::setClock(uint32_t hz) { clock_hz = hz; }
void TwoWire::beginTransmission(uint8_t address)
{
    is_open = true;
    to = address;
    count = 0;
}
size_t TwoWire::write(const uint8_t *bytes, size_t size)
{
    if (!is_open || count + size > sizeof sent) {
        return 0;
    }
    memcpy(sent + count, bytes, size);
    count += size;
    return size;
}
uint8_t TwoWire::endTransmission()
{
    if (!is_open || !has_begun || clock_hz > 100000 || clock_hz == 0) {
        return 4;
    }
    is_open = false;
    if (to != CHIP_ADDRESS) {
        return 2;
    }
    if (count == NUMBER_BYTES) {
        memcpy(number, sent, count);
        return on_read(number, NUMBER_BYTES, &received) ? 0 : 2;
    }
    return on_write(sent, count) ? 0 : 2;
}
size_t TwoWire::requestFrom(uint8_t address, size_t size)
{
    has_received = !is_open && address == CHIP_ADDRESS && size == 1 && on_read(number, NUMBER_BYTES, &received);
    return has_received;
}
int TwoWire::read()
{
    if (!has_received) {
        return -1;
    }
    has_received = false;
    return received;
}
"""


def _objects(folder: Path, name: str, address: int) -> list[Path]:
    """Compile the bus, and a library that calls the functions of the test."""
    (folder / "app_pins.h").write_text(f"#define CAMERA_ADDRESS {address}\n#define CAMERA_WIRE Wire\n")
    (folder / "wire.cpp").write_text(_WIRE)
    command = ["g++", "-std=gnu++14", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-fno-rtti", "-O2"]
    command += ["-fPIC", "-c", f"-I{folder}", *APP.include_flags, f"-I{DECLARED / 'arduino'}"]
    command += [
        f"-DCHIP_ADDRESS={CAMERAS[name].address}",
        f"-DNUMBER_BYTES={CAMERAS[name].number_bytes}",
    ]
    objects = []
    for source in (folder / "wire.cpp", APP.path("camera_bus_wire.cpp")):
        objects.append(folder / f"{source.stem}.o")
        subprocess.run([*command, str(source), "-o", str(objects[-1])], check=True)
    return objects


def _driver(folder: Path, name: str, address: int | None = None) -> ChipDriver:
    frame = frame_for(name, 96, 96, "grey")
    settings = settings_of(frame, 96, 96, min(5000, frame.row_us[1]), 1_000_000)
    chip = CAMERAS[name](CLOCK_HZ)
    objects = _objects(folder, name, chip.address if address is None else address)
    return ChipDriver(folder, name, chip, settings, objects=objects)


@pytest.mark.parametrize("name", CAMERAS)
def test_a_chip_is_set_up_through_the_library(name: str, tmp_path: Path) -> None:
    driver = _driver(tmp_path, name)
    assert (driver.start(), driver.told) == (OK, "")
    sent = driver.chip.sent()
    assert sent is not None and sent.frame_us == pytest.approx(1_000_000, rel=0.03)


def test_nothing_answers_at_another_address(tmp_path: Path) -> None:
    driver = _driver(tmp_path, "ov7670", address=0x22)
    assert driver.start() == NO_ANSWER and "No camera answers" in driver.told


def test_a_chip_without_power_does_not_answer(tmp_path: Path) -> None:
    driver = _driver(tmp_path, "ov5640")
    driver.chip.is_plugged = False
    assert driver.start() == NO_ANSWER and "No camera answers" in driver.told


def test_a_chip_that_goes_away_is_told(tmp_path: Path) -> None:
    driver = _driver(tmp_path, "gc2145")
    driver.chip.writes_left = 4
    assert driver.start() == NO_ANSWER and "stopped answering" in driver.told
