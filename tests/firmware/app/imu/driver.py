"""Compile drivers of motion sensors for this computer, and connect them to simulated chips."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from tests.firmware.app.compiled_app import compiled
from tests.firmware.app.imu.sim_chips import Bmi270, SimChip

PINS = "#define IMU_RANGE_G 4\n#define IMU_RANGE_DPS 1000\n"
OK, NO_ANSWER, OTHER_CHIP, RATE, FIRMWARE, OVERFLOW = range(6)
_READ = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint8, ctypes.POINTER(ctypes.c_uint8), ctypes.c_uint32)
#: A bus that calls the functions of this process.
_BUS = """
#include "imu_bus.h"
uint32_t (*on_read)(uint8_t, uint8_t *, uint32_t);
uint32_t (*on_write)(uint8_t, const uint8_t *, uint32_t);
uint32_t imu_bus_read(uint8_t first, uint8_t *to, uint32_t count) { return on_read(first, to, count); }
uint32_t imu_bus_write(uint8_t first, const uint8_t *from, uint32_t count) { return on_write(first, from, count); }
void imu_bus_wait(uint32_t milliseconds) { (void)milliseconds; }
uint8_t imu_bmi270_configuration[8192];
"""


class Driver:
    """The C files ``names`` and ``code`` with ``headers``, compiled for this computer in ``folder``, and a chip."""

    def __init__(
        self,
        folder: Path,
        names: list[str],
        chip: SimChip,
        code: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        self.chip = chip
        self._library = compiled(folder, names, _BUS + code, {"app_pins.h": PINS, **(headers or {})})
        configuration = (ctypes.c_uint8 * 8192).in_dll(self._library, "imu_bmi270_configuration")
        configuration[:] = list(Bmi270.CONFIGURATION)
        self.configuration = configuration
        self._functions = [_READ(self._read), _READ(self._write)]
        for pointer, function in zip(("on_read", "on_write"), self._functions, strict=True):
            ctypes.c_void_p.in_dll(self._library, pointer).value = ctypes.cast(
                function, ctypes.c_void_p
            ).value

    def _read(self, first: int, to, count: int) -> int:
        data = self.chip.read(first, count)
        if data is None:
            return 0
        ctypes.memmove(to, data, count)
        return 1

    def _write(self, first: int, data, count: int) -> int:
        return int(self.chip.write(first, bytes(data[:count])))

    def start(self, rate: int) -> int:
        return int(self._library.imu_start(rate))

    def read(self, most: int = 1000) -> tuple[int, list[list[int]]]:
        """Return the problem, and the frames that were read."""
        frames, count = np.zeros((most, 6), np.int16), ctypes.c_uint32(99)
        problem = self._library.imu_read(frames.ctypes.data_as(ctypes.c_void_p), most, ctypes.byref(count))
        assert problem == OK or count.value == 0
        return int(problem), frames[: count.value].tolist()
