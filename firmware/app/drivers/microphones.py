"""List the microphone drivers of real boards, and the pins that a driver uses on each board.

The pins of a board with a microphone are those of its schematic. On other boards, a microphone on a module of its own
is connected to them. ``src/app_pins.h``, which belongs to the user, holds them.
"""

from __future__ import annotations

from arenite.firmware.app.drivers.driver import ARDUINO, ESPIDF, PICO, ZEPHYR, Driver
from arenite.profiles.board import Board

_DECIMATOR = ("pdm_decimator.c", "pdm_decimator.h", "pdm_tables.h")
_PICO_NEEDS = ("hardware_pio", "hardware_dma", "hardware_irq", "hardware_clocks")
_ESP_NEEDS = ("esp_driver_i2s",)
_MODULE = "an I2S microphone on a module, such as INMP441, with L/R at ground"


def _arduino_library(wiring: str) -> Driver:
    return Driver(ARDUINO, ("microphone_arduino_pdm.cpp",), wiring)


def _nrf52(wiring: str, clock: int, data: int) -> Driver:
    pins = {"APP_PDM_CLOCK_PIN": f"{clock}u", "APP_PDM_DATA_PIN": f"{data}u"}
    return Driver(ARDUINO, ("microphone_nrf52_pdm.c",), wiring, pins)


def _stm32f411() -> Driver:
    wiring = f"{_MODULE}; WS PB12, SCK PB13, SD PB15"
    return Driver(ARDUINO, ("microphone_stm32f411_i2s.c",), wiring)


def _samd(wiring: str) -> Driver:
    return Driver(ARDUINO, ("microphone_samd21_i2s.c",), wiring)


def _pico() -> Driver:
    pins = {"APP_PDM_CLOCK_PIN": "2u", "APP_PDM_DATA_PIN": "3u"}
    sources = ("microphone_rp2_pdm.c", "rp2_blocks.h", *_DECIMATOR)
    return Driver(
        PICO,
        sources,
        "a PDM microphone on a module; CLK GP2, DAT GP3, SEL at ground",
        pins,
        needs=_PICO_NEEDS,
    )


def _zephyr() -> Driver:
    sources = ("microphone_zephyr_dmic.c",)
    wiring = "the PDM microphone to which the alias `dmic-dev` of the devicetree leads"
    return Driver(ZEPHYR, sources, wiring, needs=("AUDIO", "AUDIO_DMIC"))


#: Boards whose driver is not that of their family.
_BOARDS = {
    "nano33ble": _arduino_library("the microphone of the Nano 33 BLE Sense"),
    "nicla_vision": _arduino_library("the board's microphone"),
    "nanorp2040connect": _arduino_library("the board's microphone"),
    "portenta_h7_m7": _arduino_library("the microphone of the Portenta Vision Shield"),
    "adafruit_feather_nrf52840": _nrf52("the microphone of the Feather nRF52840 Sense", 1, 0),
    "nrf52840_dk": _nrf52("a PDM microphone on a module; CLK P1.01, DIN P1.02", 33, 34),
    "disco_l475vg_iot01a": Driver(
        ARDUINO, ("microphone_stm32l4_dfsdm.c",), "the board's microphone, on DFSDM1 (PE9, PE7)"
    ),
    "nucleo_f411re": _stm32f411(),
    "blackpill_f411ce": _stm32f411(),
    "zeroUSB": _samd(f"{_MODULE}; FS pin 0, SCK pin 1, SD pin 9"),
    "nano_33_iot": _samd(f"{_MODULE}; FS A2, SCK A3, SD pin 4"),
    "pico": _pico(),
    "rpipicow": _pico(),
    "rpipico2": _pico(),
    "nrf5340dk": _zephyr(),
    "nrf54l15dk": _zephyr(),
    "seeed_xiao_esp32s3": Driver(
        ESPIDF,
        ("esp_i2s_receiver.h", "microphone_esp_pdm.c"),
        "the microphone of the XIAO ESP32S3 Sense",
        {"APP_PDM_CLOCK_PIN": "42", "APP_PDM_DATA_PIN": "41"},
        needs=_ESP_NEEDS,
    ),
}


def microphone_of(board: Board) -> Driver | None:
    """Return the microphone driver of ``board``, or None if there is none."""
    if board.name in _BOARDS:
        return _BOARDS[board.name]
    if board.espressif is not None and board.espressif.chip != "esp32p4" and board.name != "esp32s3box":
        clock, select, data = _ESP_PINS[board.espressif.chip]
        return Driver(
            ESPIDF,
            ("esp_i2s_receiver.h", "microphone_esp_i2s.c"),
            f"{_MODULE}; SCK GPIO{clock}, WS GPIO{select}, SD GPIO{data}",
            {
                "APP_I2S_CLOCK_PIN": str(clock),
                "APP_I2S_SELECT_PIN": str(select),
                "APP_I2S_DATA_PIN": str(data),
            },
            needs=_ESP_NEEDS,
        )
    return None


#: Pins of bit clock, word select and data that boards with the chip lead to a connector.
_ESP_PINS = {
    "esp32": (14, 15, 13),
    "esp32s2": (4, 5, 6),
    "esp32s3": (4, 5, 6),
    "esp32c3": (4, 5, 6),
    "esp32c6": (4, 5, 6),
}
