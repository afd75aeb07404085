"""Compile the driver of a camera's chip for this computer, and connect it to a simulated chip."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

from arenite.firmware.app.camera_settings import CameraSettings
from arenite.firmware.app.drivers.camera_chips import CHIPS, CameraFrame, camera_frame
from tests.firmware.app.cameras.sim_cameras import SimCamera
from tests.firmware.app.compiled_app import compiled

OK, NO_ANSWER, OTHER_CHIP = range(3)
CLOCK_HZ = 24_000_000
_WRITE = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint8), ctypes.c_uint32)
_READ = ctypes.CFUNCTYPE(
    ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint8), ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint8)
)
#: A serial port that keeps the text, and the functions of this process that are the bus.
_PORT = """
#include "camera_bus.h"
#include "console.h"
#include <stdio.h>
#include <string.h>
uint32_t (*on_write)(const uint8_t *, uint32_t);
uint32_t (*on_read)(const uint8_t *, uint32_t, uint8_t *);
char told[1000];
void console_begin(void) {}
void console_text(const char *text) { strcat(told, text); }
void console_number(uint64_t number) { sprintf(told + strlen(told), "%u", (unsigned)number); }
void console_end(void) { strcat(told, "\\n"); }
void console_note(const char *text) { strcat(told, text); strcat(told, "\\n"); }
"""
#: A bus that calls the functions of this process.
_BUS = """
uint32_t camera_bus_write(const uint8_t *bytes, uint32_t count) { return on_write(bytes, count); }
uint32_t camera_bus_read(const uint8_t *number, uint32_t count, uint8_t *to) { return on_read(number, count, to); }
void camera_bus_wait(uint32_t milliseconds) { (void)milliseconds; }
"""


def settings_of(frame: CameraFrame, width: int, height: int, row_us: int, frame_us: int) -> CameraSettings:
    """Return the settings of an application that takes ``width`` x ``height`` pixels of one byte."""
    return CameraSettings(
        rate=1_000_000 // frame_us,
        width=width,
        height=height,
        row_bytes=width,
        row_us=row_us,
        hop=1,
        room=2,
        classes=2,
        events=2,
        format="grey",
        frame=frame,
    )


class ChipDriver:
    """The driver of the chip ``name``, compiled for ``settings``, and the simulated ``chip``."""

    def __init__(
        self,
        folder: Path,
        name: str,
        chip: SimCamera,
        settings: CameraSettings,
        bits: int = 8,
        objects: Sequence[Path] = (),
    ) -> None:
        """``objects`` are object files with the functions of the bus; without them, it calls ``chip``."""
        self.chip = chip
        pins = (
            f"#define CAMERA_ADDRESS {CHIPS[name].address}\n#define CAMERA_CLOCK_HZ {chip.clock_hz}u\n"
            f"#define CAMERA_DATA_BITS {bits}u\n"
        )
        headers = {"app_pins.h": pins, "app_settings.h": settings.header()}
        code = _PORT if objects else _PORT + _BUS
        self._library = compiled(folder, [f"{name}.c"], code, headers, objects)
        self._functions = [_WRITE(self._write), _READ(self._read)]
        for pointer, function in zip(("on_write", "on_read"), self._functions, strict=True):
            address = ctypes.cast(function, ctypes.c_void_p).value
            ctypes.c_void_p.in_dll(self._library, pointer).value = address

    def _write(self, data, count: int) -> int:
        return int(self.chip.write(bytes(data[:count])))

    def _read(self, number, count: int, to) -> int:
        value = self.chip.read(bytes(number[:count]))
        if value is None:
            return 0
        to[0] = value
        return 1

    def start(self) -> int:
        return int(self._library.camera_chip_start())

    @property
    def told(self) -> str:
        """What the driver has printed."""
        return bytes(self._library_text().value).decode()

    def _library_text(self) -> ctypes.Array[ctypes.c_char]:
        return (ctypes.c_char * 1000).in_dll(self._library, "told")


def frame_for(name: str, width: int, height: int, format: str) -> CameraFrame:
    """Return what the chip ``name`` sends, at ``CLOCK_HZ``."""
    return camera_frame(CHIPS[name], CLOCK_HZ, width, height, format)
