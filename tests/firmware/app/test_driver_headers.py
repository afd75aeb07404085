"""The drivers of real boards compile without a warning with the headers of the chips' vendors.

``ARENITE_DRIVER_HEADERS`` names a folder with checkouts of these repositories, each by its name: nrfx, CMSIS_5,
cmsis_device_f4, cmsis_device_l4, ArduinoModule-CMSIS-Atmel, ArduinoCore-mbed, ArduinoCore-API, pico-sdk, esp-idf. The
last four need headers of a C library too: ``ARENITE_NEWLIB`` and ``ARENITE_PICOLIBC`` name the folders of those for Arm
and for RISC-V.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from arenite.firmware.app.drivers.microphones import microphone_of
from arenite.firmware.app.forms.folders import sources_of
from arenite.host.app.generate import generate_app
from arenite.profiles.boards import load_board
from tests.firmware.app.vendor_headers import HEADERS, NEWLIB, PICOLIBC, esp_idf, mbed_core
from tests.host.app.sound_models import sound_model

_WARNINGS = ("-Wall", "-Wextra", "-Werror", "-c")
_CMSIS = "CMSIS_5/CMSIS/Core/Include"
#: Board, compiler options and folders of headers of the drivers that need no C library.
_BARE = {
    "nrf52840_dk": (["-mcpu=cortex-m4", "-DNRF52840_XXAA"], ["nrfx/bsp/stable/mdk", _CMSIS]),
    "nucleo_f411re": (["-mcpu=cortex-m4", "-DSTM32F411xE"], ["cmsis_device_f4/Include", _CMSIS]),
    "disco_l475vg_iot01a": (["-mcpu=cortex-m4", "-DSTM32L475xx"], ["cmsis_device_l4/Include", _CMSIS]),
    "zeroUSB": (
        ["-mcpu=cortex-m0plus", "-D__SAMD21G18A__"],
        ["ArduinoModule-CMSIS-Atmel/CMSIS-Atmel/CMSIS/Device/ATMEL", _CMSIS],
    ),
}


def _require(*folders: Path) -> None:
    for folder in folders:
        if not folder.is_dir():
            pytest.skip(
                f"needs headers in {folder} (ARENITE_DRIVER_HEADERS, ARENITE_NEWLIB, ARENITE_PICOLIBC)"
            )


def _compile(
    compiler: str,
    flags: Sequence[str],
    board: str,
    folder: Path,
    names: Sequence[str],
    headers: Sequence[Path],
) -> None:
    """Generate an application for ``board``, and compile its files ``names`` in lib/app."""
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    generate_app(sound_model(folder / "ear.tflite"), load_board(board), folder / "app")
    own = [f"-I{folder / 'app' / name}" for name in ("src", "lib/app", "lib/board")]
    system = [word for path in headers for word in ("-isystem", str(path))]
    for name in names:
        source = str(folder / "app/lib/app" / name)
        command = [compiler, *_WARNINGS, *flags, *own, *system, "-o", str(folder / "driver.o"), source]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr


def _drivers(board: str) -> list[str]:
    microphone = microphone_of(load_board(board))
    assert microphone is not None
    return sources_of(microphone.all_sources)


@pytest.mark.parametrize("board", _BARE)
def test_a_driver_compiles_with_the_vendor_s_registers(board: str, tmp_path: Path) -> None:
    flags, folders = _BARE[board]
    _require(*(HEADERS / folder for folder in folders))
    names = [name for name in _drivers(board) if name.endswith(".c")]
    flags = ["-mthumb", "-std=c99", "-ffreestanding", *flags]
    _compile("arm-none-eabi-gcc", flags, board, tmp_path, names, [HEADERS / folder for folder in folders])


def test_the_arduino_library_s_driver_compiles(tmp_path: Path) -> None:
    _require(HEADERS / "ArduinoCore-mbed", HEADERS / "ArduinoCore-API", NEWLIB)
    flags, headers = mbed_core(tmp_path, "ARDUINO_NANO33BLE", "PDM/src")
    flags += ["-mcpu=cortex-m4", "-mfloat-abi=softfp", "-mfpu=fpv4-sp-d16", "-DARENITE_BAUD=115200"]
    _compile("arm-none-eabi-g++", flags, "nano33ble", tmp_path, _drivers("nano33ble"), headers)


def test_the_pico_sdk_s_driver_compiles(tmp_path: Path) -> None:
    source = HEADERS / "pico-sdk/src"
    _require(source, NEWLIB)
    (tmp_path / "pico").mkdir()
    (tmp_path / "pico/config_autogen.h").write_text('#include "boards/pico.h"\n')
    (tmp_path / "pico/version.h").write_text("")
    folders = [
        path for group in ("rp2_common", "common", "rp2040") for path in source.glob(f"{group}/*/include")
    ]
    flags = ["-std=gnu11", "-mthumb", "-mcpu=cortex-m0plus", "-DPICO_RP2040=1", "-DPICO_ON_DEVICE=1"]
    flags += ['-DPICO_BOARD="pico"', "-DARENITE_BAUD=115200", "-DPORT_TICKS_PER_US=1u"]
    headers = [tmp_path, *folders, source / "boards/include", NEWLIB]
    _compile("arm-none-eabi-gcc", flags, "pico", tmp_path, _drivers("pico"), headers)


@pytest.mark.parametrize(
    ("board", "chip", "names"),
    [
        ("esp32-c3-devkitm-1", "esp32c3", ["app_espidf.c", "microphone_esp_i2s.c"]),
        # The ESP32-S3's compiler is not here; the ESP32-P4 has the same kind of PDM receiver.
        ("seeed_xiao_esp32s3", "esp32p4", ["microphone_esp_pdm.c"]),
    ],
)
def test_esp_idf_s_drivers_compile(board: str, chip: str, names: list[str], tmp_path: Path) -> None:
    _require(HEADERS / "esp-idf/components", PICOLIBC)
    flags, headers = esp_idf(tmp_path, chip)
    _compile("riscv64-unknown-elf-gcc", flags, board, tmp_path, names, headers)
