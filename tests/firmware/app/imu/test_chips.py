"""The drivers of motion sensors start their chips, hand over every frame in order, and tell what went wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.firmware.app.imu.driver import FIRMWARE, NO_ANSWER, OK, OTHER_CHIP, OVERFLOW, RATE, Driver
from tests.firmware.app.imu.sim_chips import Bmi270, Lsm6ds3, Lsm6dso, Mpu6050, SimChip

CHIPS: dict[str, type[Mpu6050 | Lsm6ds3 | Bmi270]] = {
    "mpu6050.c": Mpu6050,
    "lsm6ds3.c": Lsm6ds3,
    "lsm6dso.c": Lsm6dso,
    "bmi270.c": Bmi270,
}


@pytest.fixture(params=list(CHIPS))
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Driver:
    return Driver(tmp_path, [request.param], CHIPS[request.param]())


def frame(k: int) -> list[int]:
    """Return the frame number ``k``, with values of both signs."""
    return [k, -k, k * 100 % 32768, -32768 + k, 32767 - k, 5]


@pytest.mark.parametrize("rate", [26, 50, 100, 104, 200, 208])
def test_the_chip_measures_at_the_wanted_rate(driver: Driver, rate: int) -> None:
    assert driver.start(rate) == OK
    assert driver.chip.rate == pytest.approx(rate, rel=0.051)  # type: ignore[attr-defined]


#: Registers of both ranges, and the numbers of 2, 4, 8 and 16 g and of 250, 500, 1000 and 2000 degrees per second.
RANGES = {
    "mpu6050.c": (0x1C, 0x1B, (0, 1, 2, 3), (0, 1, 2, 3), 3),
    "lsm6ds3.c": (0x10, 0x11, (0, 2, 3, 1), (0, 1, 2, 3), 2),
    "lsm6dso.c": (0x10, 0x11, (0, 2, 3, 1), (0, 1, 2, 3), 2),
    "bmi270.c": (0x41, 0x43, (0, 1, 2, 3), (3, 2, 1, 0), 0),
}


@pytest.mark.parametrize("name", list(CHIPS))
@pytest.mark.parametrize("k", range(4))
def test_the_chip_measures_in_the_wanted_ranges(name: str, k: int, tmp_path: Path) -> None:
    pins = f"#define IMU_RANGE_G {2 << k}\n#define IMU_RANGE_DPS {250 << k}\n"
    chip = CHIPS[name]()
    written: dict[int, int] = {}
    write = chip.write
    chip.write = lambda first, data: written.update({first: data[0]}) or write(first, data)  # type: ignore[method-assign]
    Driver(tmp_path, [name], chip, headers={"app_pins.h": pins}).start(100)
    g, dps, g_numbers, dps_numbers, shift = RANGES[name]
    assert written[g] >> shift & 3 == g_numbers[k] and written[dps] >> shift & 3 == dps_numbers[k]


@pytest.mark.parametrize("rate", [0, 1, 70, 1_000_000])
def test_a_rate_that_the_chip_does_not_have_is_refused(driver: Driver, rate: int) -> None:
    if isinstance(driver.chip, Mpu6050) and rate == 70:
        assert driver.start(rate) == OK  # 1000 / 14 = 71.4
    else:
        assert driver.start(rate) == RATE


def test_frames_arrive_in_order_with_acceleration_first(driver: Driver) -> None:
    assert driver.start(104) == OK
    received: list[list[int]] = []
    for k in range(500):
        driver.chip.sample(frame(k))
        if k % 13 == 12:
            problem, frames = driver.read(5 if k % 2 else 1000)
            assert problem == OK
            received += frames
    received += driver.read()[1]
    assert received == [frame(k) for k in range(500)]
    assert driver.read() == (OK, [])


def test_an_overflow_is_told_and_frames_are_whole_afterwards(driver: Driver) -> None:
    driver.start(104)
    for k in range(2000):
        driver.chip.sample(frame(k))
    assert driver.read() == (OVERFLOW, [])
    driver.chip.sample(frame(1))
    assert driver.read() == (OK, [frame(1)])


def test_a_chip_that_was_unplugged_can_start_again(driver: Driver) -> None:
    driver.start(104)
    driver.chip.sample(frame(1))
    driver.chip.is_plugged = False
    assert driver.read()[0] == NO_ANSWER
    assert driver.start(104) == NO_ANSWER
    driver.chip = type(driver.chip)()
    driver.chip.sample(frame(2))  # the chip is off
    assert driver.start(104) == OK
    driver.chip.sample(frame(3))
    assert driver.read() == (OK, [frame(3)])


@pytest.mark.parametrize("calls", range(0, 30, 3))
@pytest.mark.slow
def test_a_bus_that_fails_in_any_call_gives_no_wrong_frames(driver: Driver, calls: int) -> None:
    driver.start(104)
    for k in range(20):
        driver.chip.sample(frame(k))
    fail_after(driver.chip, calls)
    problem, frames = driver.read()
    driver.chip.is_plugged = True
    assert problem in (OK, NO_ANSWER, OVERFLOW)
    expected = [frame(k) for k in range(20)]
    later = driver.read()[1]
    for received in (frames, later):
        assert all(f in expected for f in received)


def fail_after(chip: SimChip, calls: int) -> None:
    """Unplug the chip after a number of reads. A read that fails has taken nothing from the FIFO."""
    read: Callable[[int, int], bytes | None] = chip.read
    left = iter(range(calls))

    def limited(first: int, count: int) -> bytes | None:
        if next(left, None) is None:
            chip.is_plugged = False
            chip.read = read  # type: ignore[method-assign, assignment]
            return None
        return read(first, count)

    chip.read = limited  # type: ignore[method-assign, assignment]


def test_another_chip_is_told(driver: Driver) -> None:
    driver.chip.registers[driver.chip.identity_at] = 0x12
    assert driver.start(104) == OTHER_CHIP


def test_a_frame_that_was_cut_empties_the_fifo(tmp_path: Path) -> None:
    driver = Driver(tmp_path, ["lsm6ds3.c"], Lsm6ds3())
    driver.start(104)
    driver.chip.sample(frame(1))
    driver.chip.read(0x3E, 2)  # one word is gone
    driver.chip.sample(frame(2))
    assert driver.read() == (OVERFLOW, [])
    driver.chip.sample(frame(3))
    assert driver.read() == (OK, [frame(3)])


def test_half_a_frame_is_never_joined_with_another(tmp_path: Path) -> None:
    driver = Driver(tmp_path, ["lsm6dso.c"], Lsm6dso())
    driver.start(104)
    driver.chip.sample(frame(1))
    driver.chip.read(0x78, 7)  # the rotation of frame 1 is gone
    driver.chip.sample(frame(2))
    assert driver.read() == (OVERFLOW, [])
    driver.chip.sample(frame(3))
    assert driver.read() == (OK, [frame(3)])


def test_a_damaged_configuration_is_told(tmp_path: Path) -> None:
    driver = Driver(tmp_path, ["bmi270.c"], Bmi270())
    driver.configuration[100] ^= 1
    assert driver.start(100) == FIRMWARE
