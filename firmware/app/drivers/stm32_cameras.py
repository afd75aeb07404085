"""List the boards with the camera interface DCMI of an STM32, and its pins on each board."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.firmware.app.drivers.camera_chips import CHIPS, chip_named
from arenite.firmware.app.drivers.camera_driver import CHIP_FILES, CameraDriver
from arenite.firmware.app.drivers.driver import ARDUINO
from arenite.profiles.board import Board


@dataclass(frozen=True)
class _Port:
    """The camera interface of a board.

    Attributes:
        family: the family of the chip, as its macro is called.
        pins: PCLK, HSYNC, VSYNC, D0 to D7.
        place: where the camera is, for display.
        chip: the usual camera.
        timer_hz: the frequency of the clock from a timer, or 0 for the 16 MHz of MCO1.
        timer: the number of this timer.
        wire: the bus of the camera.
    """

    family: str
    pins: str
    place: str = "on a module"
    chip: str = "ov2640"
    timer_hz: int = 0
    timer: int = 1
    wire: str = "Wire"


_NUCLEO = "PA6 PA4 PG9 PC6 PC7 PE0 PE1 PE4 PD3 PE5 PE6"
_PORTS = {
    "portenta_h7_m7": _Port(
        "STM32H7",
        "PA6 PA4 PI5 PH9 PH10 PH11 PH12 PH14 PI4 PI6 PI7",
        "of the Portenta Vision Shield",
        "hm01b0",
        6_000_000,
    ),
    "nicla_vision": _Port("STM32H7", _NUCLEO, "on the board", "gc2145", 12_000_000, 3, "Wire2"),
    "disco_f407vg": _Port("STM32F4", "PA6 PA4 PB7 PC6 PC7 PE0 PE1 PE4 PB6 PE5 PE6"),
    "nucleo_f429zi": _Port("STM32F4", _NUCLEO),
    "nucleo_f746zg": _Port("STM32F7", _NUCLEO),
    "nucleo_f767zi": _Port("STM32F7", _NUCLEO),
    "nucleo_h743zi": _Port("STM32H7", _NUCLEO),
}
_NAMES = ("PCLK", "HSYNC", "VSYNC", *(f"D{k}" for k in range(8)))
_MCO1_HZ = 16_000_000
#: Where the clock of a timer is.
_CLOCK_PINS = {1: "PK1", 3: "PA7"}


def stm32_camera_of(board: Board, chip: str | None) -> CameraDriver | None:
    """Return the driver of a camera at the DCMI of ``board``, or None if there is none. ``chip`` is the name of the
    camera's chip, or None for the usual one."""
    port = _PORTS.get(board.name)
    if port is None:
        return None
    used = chip_named(chip, port.chip, tuple(CHIPS))
    clock_hz = port.timer_hz or _MCO1_HZ
    names = port.pins.split()
    clock = f"clock {_CLOCK_PINS[port.timer] if port.timer_hz else 'PA8'}"
    places = ", ".join(f"{name} {place}" for name, place in zip(_NAMES, names, strict=True))
    wiring = f"{used.name.upper()} {port.place}; {clock}, SDA and SCL of {port.wire}, {places}"
    pins = {
        "CAMERA_ADDRESS": hex(used.address),
        "CAMERA_WIRE": port.wire,
        "CAMERA_CLOCK_HZ": f"{clock_hz}u",
        "CAMERA_DATA_BITS": "8u",
        "CAMERA_PINS": ", ".join(f"{{'{name[1]}', {name[2:]}}}" for name in names),
    }
    if port.timer_hz:
        pins["CAMERA_CLOCK_TIMER"] = str(port.timer)
    return CameraDriver(
        ARDUINO,
        (f"{used.name}.c", "camera_stm32_dcmi.c", "camera_bus_wire.cpp", *CHIP_FILES),
        wiring,
        pins,
        (f"CAMERA_{port.family}=1",),
        chip=used.name,
        clock_hz=clock_hz,
    )
