"""List the drivers of cameras, and the pins that a driver uses on each board."""

from __future__ import annotations

from arenite.errors import UsageError
from arenite.firmware.app.drivers.camera_chips import CHIPS, chip_named
from arenite.firmware.app.drivers.camera_driver import CHIP_FILES, CameraDriver
from arenite.firmware.app.drivers.driver import PICO, framework_of
from arenite.firmware.app.drivers.esp_cameras import esp_camera_of
from arenite.firmware.app.drivers.stm32_cameras import stm32_camera_of
from arenite.profiles.board import Board

_PICO_NEEDS = (
    "hardware_pio",
    "hardware_dma",
    "hardware_irq",
    "hardware_clocks",
    "hardware_i2c",
    "hardware_pwm",
)


#: The chips whose pixels are valid at the rising edge of the pixel clock, as the program of the PIO takes them.
_PICO_CHIPS = tuple(name for name in CHIPS if name != "gc2145")


def _pico(chip: str | None) -> CameraDriver:
    used = chip_named(chip, "hm01b0", _PICO_CHIPS)
    clock_hz = 25_000_000
    pins = {
        "CAMERA_ADDRESS": hex(used.address),
        "CAMERA_I2C": "i2c0",
        "CAMERA_SDA": "4",
        "CAMERA_SCL": "5",
        "CAMERA_CLOCK_PIN": "3 /* -1 if the module has a clock of its own */",
        "CAMERA_CLOCK_HZ": f"{clock_hz}u",
        "CAMERA_PIXEL_CLOCK_PIN": "14u",
        "CAMERA_HREF_PIN": "15u",
        "CAMERA_VSYNC_PIN": "16u",
        "CAMERA_DATA_PIN": "6u /* D0; D1 to D7 are the pins after it */",
        "CAMERA_DATA_BITS": "1u /* 8: all data pins. 1: D0 alone, which HM01B0 can use */"
        if used.name == "hm01b0"
        else "8u",
    }
    data = "D0 GP6" if used.name == "hm01b0" else "D0 to D7 GP6 to GP13"
    return CameraDriver(
        PICO,
        (
            f"{used.name}.c",
            "camera_rp2.c",
            "rp2_camera_program.h",
            "rp2_blocks.h",
            "camera_bus_pico.c",
            *CHIP_FILES,
        ),
        f"{used.name.upper()} on a module; clock GP3, SDA GP4, SCL GP5, {data}, PCLK GP14, HREF GP15, VSYNC GP16",
        pins,
        needs=_PICO_NEEDS,
        chip=used.name,
        clock_hz=clock_hz,
    )


def camera_of(board: Board, chip: str | None = None) -> CameraDriver | None:
    """Return the driver of a camera at ``board``, or None if there is none.

    ``chip`` is the name of the camera's chip, or None for the usual one. Raises ``UsageError`` if the board's driver
    does not work with it.
    """
    if chip is not None and chip not in CHIPS:
        raise UsageError(f"'{chip}' is not a camera with a driver.", f"Choose one of {', '.join(CHIPS)}.")
    if framework_of(board) == PICO:
        return _pico(chip)
    if board.espressif is not None:
        return esp_camera_of(board, chip)
    return stm32_camera_of(board, chip)
