"""List the drivers of analog-to-digital converters, and the inputs of each board in the order of its header."""

from __future__ import annotations

from arenite.firmware.app.drivers.driver import ARDUINO, ESPIDF, PICO, Driver, framework_of
from arenite.profiles.board import Board

_NEEDS = ("hardware_adc", "hardware_dma", "hardware_irq", "hardware_clocks")
#: Inputs AIN of an nRF52 that a board calls A0, A1, ...
_NRF_INPUTS = {
    "nano33ble": "2, 3, 6, 5, 7, 0",
    "adafruit_feather_nrf52840": "2, 3, 6, 4, 0, 1",
    "nrf52840_dk": "1, 2, 4, 5, 6, 7",
}
#: Port, pin and channel of the inputs A0, A1, ... of a board with an STM32F4.
_NUCLEO_64 = "{'A', 0, 0}, {'A', 1, 1}, {'A', 4, 4}, {'B', 0, 8}, {'C', 1, 11}, {'C', 0, 10}"
_STM32F4_INPUTS = {
    "nucleo_f401re": _NUCLEO_64,
    "nucleo_f411re": _NUCLEO_64,
    "nucleo_f446re": _NUCLEO_64,
    "blackpill_f411ce": ", ".join(f"{{'A', {k}, {k}}}" for k in range(6)),
}
#: Channels of ADC1 of an ESP32, and their GPIOs.
_ESP_INPUTS = {
    "esp32": ("0, 3, 6, 7, 4, 5", "36, 39, 34, 35, 32, 33"),
    "esp32s2": ("0, 1, 2, 3, 4, 5", "1 to 6"),
    "esp32s3": ("0, 1, 2, 3, 4, 5", "1 to 6"),
    "esp32c3": ("0, 1, 2, 3, 4", "0 to 4"),
    "esp32c6": ("0, 1, 2, 3, 4, 5", "0 to 5"),
}
#: Neighboring inputs AIN of a SAMD21: what the board calls them, the number of the first one, and ports and pins.
_SAMD21_INPUTS = {
    "zeroUSB": (
        "the analog inputs from A1 to A4, in their order",
        2,
        "{'B', 8}, {'B', 9}, {'A', 4}, {'A', 5}",
    ),
    "nano_33_iot": ("the analog inputs A6, A3, A2, in this order", 17, "{'A', 9}, {'A', 10}, {'A', 11}"),
}
#: Boards whose pins of ADC1 are used otherwise.
_OTHER_USE = ("esp32cam", "esp32s3box")


def converter_of(board: Board) -> Driver | None:
    """Return the driver of the analog-to-digital converter of ``board``, or None if there is none."""
    framework = framework_of(board)
    if framework == PICO:
        wiring = "the analog inputs from GP26 on, in their order"
        sources = ("adc_rp2.c", "rp2_blocks.h")
        return Driver(PICO, sources, wiring, {"ADC_FIRST": "0u"}, needs=_NEEDS, inputs=4)
    wiring = "the analog inputs from A0 on, in their order"
    if board.name in _NRF_INPUTS:
        return Driver(ARDUINO, ("adc_nrf52.c",), wiring, {"ADC_INPUTS": _NRF_INPUTS[board.name]}, inputs=6)
    if board.name in _SAMD21_INPUTS:
        wiring, first, places = _SAMD21_INPUTS[board.name]
        pins = {"ADC_FIRST": f"{first}u", "ADC_PINS": places}
        return Driver(ARDUINO, ("adc_samd21.c",), wiring, pins, inputs=places.count("{"))
    if board.name in _STM32F4_INPUTS:
        inputs = _STM32F4_INPUTS[board.name]
        return Driver(ARDUINO, ("adc_stm32f4.c",), wiring, {"ADC_INPUTS": inputs}, inputs=6)
    esp = board.espressif
    if esp is not None and esp.chip in _ESP_INPUTS and board.name not in _OTHER_USE:
        channels, gpios = _ESP_INPUTS[esp.chip]
        wiring = f"the analog inputs at GPIO {gpios}, in this order"
        return Driver(
            ESPIDF,
            ("adc_esp.c",),
            wiring,
            {"ADC_INPUTS": channels},
            needs=("esp_adc",),
            inputs=len(channels.split(",")),
        )
    return None
