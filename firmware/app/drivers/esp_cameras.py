"""List the boards with a camera at an ESP32, and its pins on each board.

Espressif's component sets up the chip, whichever it is, and has whole frames.
"""

from __future__ import annotations

from arenite.errors import UsageError
from arenite.firmware.app.drivers.camera_chips import ANY_CHIP, ANY_CHIP_SIZES
from arenite.firmware.app.drivers.camera_driver import CameraDriver
from arenite.firmware.app.drivers.driver import ESPIDF
from arenite.profiles.board import Board

_NAMES = (
    "POWER_DOWN",
    "RESET",
    "CLOCK",
    "SDA",
    "SCL",
    *(f"D{k}" for k in range(8)),
    "VSYNC",
    "HREF",
    "PIXEL_CLOCK",
)
_EYE = (
    "the camera of an ESP32-S3-EYE, or one with the same wires",
    "-1 -1 15 4 5 11 9 8 10 12 18 17 16 6 7 13",
)
#: Where the camera is, and the GPIOs in the order of ``_NAMES``.
_BOARDS = {
    "esp32cam": ("the board's camera", "32 -1 0 26 27 5 18 19 21 36 39 34 35 25 23 22"),
    "esp-wrover-kit": ("the board's camera", "-1 -1 21 26 27 4 5 18 19 36 39 34 35 25 23 22"),
    "seeed_xiao_esp32s3": (
        "the camera of the XIAO ESP32S3 Sense",
        "-1 -1 10 40 39 15 17 18 16 14 12 11 48 38 47 13",
    ),
    "esp32-s3-devkitc-1": _EYE,
    "esp32-s3-devkitc-1-n8r8": _EYE,
}
_CLOCK_HZ = 20_000_000
_COMPONENT = {"espressif/esp32-camera": "^2.1.0"}


def esp_camera_of(board: Board, chip: str | None) -> CameraDriver | None:
    """Return the driver of a camera at the ESP32 of ``board``, or None if there is none.

    Raises ``UsageError`` if there is a ``chip``: the component finds it.
    """
    if board.name not in _BOARDS:
        return None
    if chip is not None:
        raise UsageError(
            f"The camera's chip of {board.name} is found by the component esp32-camera.", "Remove --chip."
        )
    assert board.espressif is not None
    place, gpios = _BOARDS[board.name]
    pins = {f"CAMERA_{name}": gpio for name, gpio in zip(_NAMES, gpios.split(), strict=True)}
    pins["CAMERA_CLOCK_HZ"] = str(_CLOCK_HZ)
    pins["CAMERA_IN_PSRAM"] = "0" if board.espressif.psram == "none" else "1"
    # The size that the component knows by a name follows from the width and the height in app_settings.h.
    sizes = " : ".join(
        f"CAMERA_CHIP_WIDTH == {w}u && CAMERA_CHIP_HEIGHT == {h}u ? FRAMESIZE_{name}"
        for name, w, h in ANY_CHIP_SIZES
    )
    return CameraDriver(
        ESPIDF,
        ("camera_esp.c", "camera_chip.h", "camera_rows.c", "camera_rows.h"),
        place,
        pins | {"CAMERA_FRAME_SIZE": f"({sizes} : FRAMESIZE_UXGA)"},
        needs=("esp32-camera",),
        registry=_COMPONENT,
        clock_hz=_CLOCK_HZ,
        other_chip=ANY_CHIP,
        holds_frame=True,
    )
