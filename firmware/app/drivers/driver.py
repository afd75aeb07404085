"""A driver of a sensor on a board, and the framework that compiles it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arenite.profiles.board import Board

ARDUINO, ESPIDF, PICO, ZEPHYR = "arduino", "espidf", "pico", "zephyr"
#: The file with the serial port, the counter and the sleep of each framework.
PORTS = {ARDUINO: "app_arduino.cpp", ESPIDF: "app_espidf.c", PICO: "app_pico.c", ZEPHYR: "app_zephyr.c"}
#: The names of the boards in the Pico SDK.
PICO_BOARDS = {"pico": "pico", "rpipicow": "pico_w", "rpipico2": "pico2"}
#: PlatformIO's platforms with an Arduino core for which app_arduino.cpp is written: Arm, with CMSIS.
_ARDUINO_PLATFORMS = ("nordicnrf52", "ststm32", "atmelsam", "raspberrypi", "renesas-ra")
_ZEPHYR_BOARDS = ("nrf5340dk", "nrf54l15dk")


@dataclass(frozen=True)
class Driver:
    """A driver of a sensor on a board.

    Attributes:
        framework: what provides start-up and clocks: ``arduino``, ``espidf``, ``pico`` or ``zephyr``.
        sources: the files of the driver.
        wiring: where the sensor is, for display.
        pins: macros of ``src/app_pins.h`` with their values.
        defines: further macros for all sources.
        needs: what the driver needs of its framework: components of ESP-IDF, libraries of the Pico SDK, symbols of
            Zephyr's Kconfig, or libraries for PlatformIO's ``lib_deps``.
        registry: components of ESP-IDF's registry, each ``NAMESPACE/NAME`` with its version.
        state_bytes: bytes of a partition of the flash memory for what was learned.
        inputs: the most channels that a sample can have; None if the framework's driver decides.
        rates: the samples per second that the chip has, each within 5 %; () if it has a range of rates.
        needs_files: what the user must add to ``src/``, for display; "" if nothing.
    """

    framework: str
    sources: tuple[str, ...]
    wiring: str
    pins: Mapping[str, str] = field(default_factory=dict)
    defines: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    needs_files: str = ""
    registry: Mapping[str, str] = field(default_factory=dict)
    state_bytes: int = 0
    inputs: int | None = None
    rates: tuple[float, ...] = ()

    @property
    def all_sources(self) -> tuple[str, ...]:
        """The files of the driver and of the framework's serial port."""
        return (PORTS[self.framework], *self.sources)

    @property
    def settings_place(self) -> str:
        """Sentences about the files with the pins and settings of the sensor."""
        places = ["Its pins and settings are in src/app_pins.h."] if self.pins else []
        if self.framework == ZEPHYR:
            places = ["Its settings are in src/app_pins.h."] if self.pins else []
            places.append("Its device and the alias are in src/app.overlay.")
        elif not self.pins and self.sources[0].endswith(".cpp"):
            places.append("The board's Arduino core sets its pins.")
        elif not self.pins:
            places.append(f"Its pins are fixed in lib/app/{self.sources[0]}.")
        return " ".join(places)

    def pins_header(self) -> str:
        """Return the text of ``src/app_pins.h``, which is only written if there are ``pins``."""
        lines = "".join(f"#define {name} {value}\n" for name, value in self.pins.items())
        return (
            "/* This file is yours: `arenite app` writes it once and does not change it again.\n"
            f" * Sensor: {self.wiring}. */\n"
            f"#ifndef APP_PINS_H\n#define APP_PINS_H\n\n{lines}\n#endif\n"
        )


def framework_of(board: Board) -> str | None:
    """Return the framework of applications on a real board, or None if there is none for it."""
    if board.espressif is not None:
        return ESPIDF
    if board.name in PICO_BOARDS:
        return PICO
    if board.name in _ZEPHYR_BOARDS:
        return ZEPHYR
    platformio = board.platformio
    if platformio is None or platformio.framework != ARDUINO or platformio.platform not in _ARDUINO_PLATFORMS:
        return None
    return ARDUINO
