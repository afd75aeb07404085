"""Write ``src/app.overlay``: the devicetree of a sensor for Zephyr."""

from __future__ import annotations

from arenite.firmware.app.drivers.driver import Driver
from arenite.profiles.board import Board

_HEAD = """\
/* This file is yours: `arenite app` writes it once and does not change it again. It was never compiled.
 * Sensor: {wiring}. {note} */
"""

_DMIC = """\
&pinctrl {{
    app_pdm: app_pdm {{
        group1 {{
            psels = <NRF_PSEL(PDM_CLK, {clock_pin})>, <NRF_PSEL(PDM_DIN, {data_pin})>;
        }};
    }};
}};

&{device} {{
    status = "okay";
    pinctrl-0 = <&app_pdm>;
    pinctrl-names = "default";
    clock-source = "{clock}";
}};

/ {{
    aliases {{
        dmic-dev = &{device};
    }};
}};
"""
_DMIC_NOTE = "Change the pins to those to which you connect the microphone."

_I2C = """\
&{device} {{
    status = "okay";
}};

/ {{
    aliases {{
        imu-i2c = &{device};
    }};
}};
"""
_I2C_NOTE = "The bus also needs its pins if the board does not set them."

#: The microphone's device, its clock and its pins on each board of Zephyr.
_MICROPHONES = {
    "nrf5340dk": {"device": "pdm0", "clock": "PCLK32M_HFXO", "clock_pin": "0, 25", "data_pin": "0, 26"},
    "nrf54l15dk": {"device": "pdm20", "clock": "PCLK32M", "clock_pin": "1, 12", "data_pin": "1, 13"},
}
#: A bus of I2C on each board of Zephyr.
_BUSES = {"nrf5340dk": "arduino_i2c", "nrf54l15dk": "i2c21"}


def zephyr_overlay(board: Board, driver: Driver) -> str:
    """Return the devicetree that enables the device of the sensor on ``board``, and has the alias that the driver
    needs."""
    is_microphone = "AUDIO_DMIC" in driver.needs
    head = _HEAD.format(wiring=driver.wiring, note=_DMIC_NOTE if is_microphone else _I2C_NOTE)
    if is_microphone:
        return f"{head}\n{_DMIC.format(**_MICROPHONES[board.name])}"
    return f"{head}\n{_I2C.format(device=_BUSES[board.name])}"
