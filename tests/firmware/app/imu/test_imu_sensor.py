"""The driver of a motion sensor hands over the chip's samples at their times, and counts those that are missing."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from tests.firmware.app.imu.driver import NO_ANSWER, OK, Driver
from tests.firmware.app.imu.sim_chips import Mpu6050

RATE = 100
TICKS_PER_US = 16
#: A clock that the test sets, and a list of what the driver hands over.
_CODE = """
#include "sensor.h"
uint32_t clock_ticks, handed, lost_before[1000];
int16_t values[10000];
uint32_t port_ticks(void) { return clock_ticks; }
void sensor_write(const int16_t *samples, uint32_t count, uint32_t lost)
{
    lost_before[handed] = lost;
    for (uint32_t k = 0; k < count * SENSOR_CHANNELS; k++) {
        values[handed * SENSOR_CHANNELS + k] = samples[k];
    }
    handed += count;
}
"""


class Sensor(Driver):
    """A driver with its clock."""

    def __init__(self, folder: Path, channels: int) -> None:
        settings = f"#define SENSOR_CHANNELS {channels}u\n"
        port = f"#include <stdint.h>\n#define PORT_TICKS_PER_US {TICKS_PER_US}u\nuint32_t port_ticks(void);\n"
        headers = {"app_settings.h": settings, "port.h": port}
        code = '#include "app_settings.h"\n' + _CODE
        super().__init__(folder, ["mpu6050.c", "imu_sensor.c"], Mpu6050(), code, headers)
        self.channels = channels
        self.clock = ctypes.c_uint32.in_dll(self._library, "clock_ticks")
        self.clock.value = 2**32 - TICKS_PER_US * 500_000  # it wraps after half a second
        self.next = 0

    def start_sensor(self) -> int:
        return int(self._library.sensor_start(RATE))

    def run(self, samples: int, *, polls: int = 3) -> None:
        """Let the chip measure ``samples`` samples, and poll ``polls`` times for each."""
        for _ in range(samples):
            self.chip.sample([self.next, 1, 2, 3, 4, -self.next])
            self.next += 1
            for _ in range(polls):
                self.clock.value += TICKS_PER_US * 1_000_000 // RATE // polls
                self._library.sensor_poll()

    def received(self) -> tuple[np.ndarray, list[int]]:
        """Return the samples [count, channels] that were handed over, and what was lost before each."""
        count = ctypes.c_uint32.in_dll(self._library, "handed").value
        values = np.ctypeslib.as_array((ctypes.c_int16 * 10000).in_dll(self._library, "values"))
        lost = (ctypes.c_uint32 * 1000).in_dll(self._library, "lost_before")
        return values[: count * self.channels].reshape(count, self.channels).copy(), list(lost[:count])


@pytest.fixture(params=[3, 6])
def sensor(request: pytest.FixtureRequest, tmp_path: Path) -> Sensor:
    return Sensor(tmp_path, request.param)


def test_every_sample_is_handed_over_once(sensor: Sensor) -> None:
    assert sensor.start_sensor() == OK
    sensor.run(150)
    samples, lost = sensor.received()
    expected = [[k, 1, 2, 3, 4, -k][: sensor.channels] for k in range(len(samples))]
    assert samples.tolist() == expected and 148 <= len(samples) <= 150
    assert not any(lost)


def test_a_sensor_that_was_not_read_for_long_tells_how_much_is_missing(sensor: Sensor) -> None:
    sensor.start_sensor()
    sensor.run(50)
    before = len(sensor.received()[0])
    sensor.run(200, polls=0)
    sensor.clock.value += TICKS_PER_US * 2_000_000
    sensor.run(20)
    _, lost = sensor.received()
    assert lost[before] == sum(lost) == pytest.approx(200, abs=2)


def test_a_sensor_that_is_unplugged_starts_again(sensor: Sensor) -> None:
    sensor.start_sensor()
    sensor.run(50)
    before = len(sensor.received()[0])
    sensor.chip.is_plugged = False
    sensor.run(300)
    assert len(sensor.received()[0]) == before
    sensor.chip = Mpu6050()
    sensor.run(200)
    samples, lost = sensor.received()
    assert len(samples) > before + 90
    assert sum(lost) + len(samples) == pytest.approx(550, abs=3)
    assert lost[before] == sum(lost)


def test_a_sensor_that_is_plugged_in_later_starts(sensor: Sensor) -> None:
    sensor.chip.is_plugged = False
    assert sensor.start_sensor() == NO_ANSWER
    sensor.run(50)
    sensor.chip.is_plugged = True
    sensor.run(150)
    samples, lost = sensor.received()
    assert sum(lost) + len(samples) == pytest.approx(200, abs=3)
