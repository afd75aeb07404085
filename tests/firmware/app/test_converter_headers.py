"""The drivers of analog-to-digital converters compile without a warning with the headers of the chips' vendors.

``ARENITE_DRIVER_HEADERS`` names a folder with checkouts of these repositories, each by its name: nrfx, CMSIS_5,
cmsis_device_f4, ArduinoModule-CMSIS-Atmel. The Pico's driver is linked by ``tests/host/app/test_real_links.py``.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from arenite.firmware.app.drivers.converters import converter_of
from arenite.firmware.sources import APP
from arenite.profiles.boards import load_board
from tests.firmware.app.vendor_headers import HEADERS

_CMSIS = "CMSIS_5/CMSIS/Core/Include"
#: Board, macro of the chip, and folder of headers.
_BOARDS = [
    ("nano33ble", "NRF52840_XXAA", "nrfx/bsp/stable/mdk"),
    ("nucleo_f411re", "STM32F411xE", "cmsis_device_f4/Include"),
    ("nucleo_f446re", "STM32F446xx", "cmsis_device_f4/Include"),
    ("zeroUSB", "__SAMD21G18A__", "ArduinoModule-CMSIS-Atmel/CMSIS-Atmel/CMSIS/Device/ATMEL"),
    ("nano_33_iot", "__SAMD21G18A__", "ArduinoModule-CMSIS-Atmel/CMSIS-Atmel/CMSIS/Device/ATMEL"),
]


@pytest.mark.parametrize(("board", "chip", "device"), _BOARDS)
@pytest.mark.parametrize("spare", [None, 0, -1])
def test_a_converter_compiles_with_the_vendor_s_registers(
    board: str, chip: str, device: str, spare: int | None, tmp_path: Path
) -> None:
    folders = [HEADERS / _CMSIS, HEADERS / device]
    for folder in folders:
        if not folder.is_dir():
            pytest.skip(f"needs headers in {folder} (ARENITE_DRIVER_HEADERS)")
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("needs arm-none-eabi-gcc")
    driver = converter_of(load_board(board))
    assert driver is not None and driver.inputs is not None
    channels = 1 if spare is None else driver.inputs - spare
    (tmp_path / "app_pins.h").write_text(driver.pins_header())
    (tmp_path / "app_settings.h").write_text(f"#define SENSOR_CHANNELS {channels}u\n")
    command = ["arm-none-eabi-gcc", "-Wall", "-Wextra", "-Werror", "-std=c99", "-ffreestanding", "-c"]
    command += [
        "-mthumb",
        f"-mcpu={'cortex-m0plus' if 'SAMD21' in chip else 'cortex-m4'}",
        "-O2",
        f"-D{chip}",
        f"-I{tmp_path}",
        f"-I{APP.folder}",
    ]
    command += [word for folder in folders for word in ("-isystem", str(folder))]
    (source,) = driver.sources
    result = subprocess.run(
        [*command, "-o", str(tmp_path / "driver.o"), str(APP.path(source))], capture_output=True, text=True
    )
    if spare == -1:  # more channels than inputs
        assert result.returncode and "adc_has_enough_inputs" in result.stderr
    else:
        assert result.returncode == 0, result.stderr
