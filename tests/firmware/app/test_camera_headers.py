"""The drivers of cameras at real boards compile without a warning with the headers of the chips' vendors.

``ARENITE_DRIVER_HEADERS`` names a folder with checkouts of these repositories, each by its name: CMSIS_5,
cmsis_device_f4, cmsis_device_f7, cmsis_device_h7, ArduinoCore-mbed, ArduinoCore-API. The last two need the folder of
newlib's headers too (``ARENITE_NEWLIB``). The Pico's driver is linked by ``tests/host/app/test_real_links.py``.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from arenite.host.app.camera.generate import generate_camera_app
from arenite.profiles.boards import load_board
from tests.firmware.app.vendor_headers import HEADERS, NEWLIB, mbed_core
from tests.host.app.camera.camera_models import gray_model

#: Board, chip of the camera, compiler options and folders of headers.
_BOARDS = [
    ("portenta_h7_m7", None, ["-mcpu=cortex-m7", "-DSTM32H747xx", "-DCORE_CM7"], "cmsis_device_h7"),
    ("nicla_vision", None, ["-mcpu=cortex-m7", "-DSTM32H747xx", "-DCORE_CM7"], "cmsis_device_h7"),
    ("nucleo_h743zi", "ov5640", ["-mcpu=cortex-m7", "-DSTM32H743xx"], "cmsis_device_h7"),
    ("nucleo_f767zi", "ov7670", ["-mcpu=cortex-m7", "-DSTM32F767xx"], "cmsis_device_f7"),
    ("disco_f407vg", None, ["-mcpu=cortex-m4", "-DSTM32F407xx"], "cmsis_device_f4"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("board", "chip", "flags", "device"), _BOARDS)
def test_dcmi_compiles_with_the_vendor_s_registers(
    board: str, chip: str | None, flags: list[str], device: str, tmp_path: Path
) -> None:
    folders = [HEADERS / "CMSIS_5/CMSIS/Core/Include", HEADERS / device / "Include"]
    for folder in folders:
        if not folder.is_dir():
            pytest.skip(f"needs headers in {folder} (ARENITE_DRIVER_HEADERS)")
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("needs arm-none-eabi-gcc")
    made = generate_camera_app(gray_model(tmp_path), load_board(board), tmp_path / "app", chip=chip)
    assert made.driver is not None
    own = [f"-I{tmp_path / 'app' / name}" for name in ("src", "lib/app", "lib/board")]
    system = [word for folder in folders for word in ("-isystem", str(folder))]
    command = ["arm-none-eabi-gcc", "-Wall", "-Wextra", "-Werror", "-std=c99", "-mthumb", "-ffreestanding"]
    command += [
        "-O2",
        "-c",
        "-DARDUINO=10819",
        *flags,
        *(f"-D{name}" for name in made.driver.defines),
        *own,
        *system,
    ]
    for name in ("camera_stm32_dcmi.c", "camera_rows.c", f"{made.driver.chip}.c"):
        source = tmp_path / "app/lib/app" / name
        result = subprocess.run(
            [*command, "-o", str(tmp_path / "driver.o"), str(source)], capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("board", "variant"), [("nicla_vision", "NICLA_VISION"), ("portenta_h7_m7", "PORTENTA_H7_M7")]
)
def test_the_bus_compiles_with_the_arduino_core(board: str, variant: str, tmp_path: Path) -> None:
    for folder in (HEADERS / "ArduinoCore-mbed", HEADERS / "ArduinoCore-API", NEWLIB):
        if not folder.is_dir():
            pytest.skip(f"needs headers in {folder} (ARENITE_DRIVER_HEADERS, ARENITE_NEWLIB)")
    if shutil.which("arm-none-eabi-g++") is None:
        pytest.skip("needs arm-none-eabi-g++")
    generate_camera_app(gray_model(tmp_path), load_board(board), tmp_path / "app")
    flags, folders = mbed_core(tmp_path, variant, "Wire")
    flags += ["-mcpu=cortex-m7", "-mfloat-abi=softfp", "-mfpu=fpv5-d16"]
    own = [f"-I{tmp_path / 'app' / name}" for name in ("src", "lib/app", "lib/board")]
    system = [word for folder in folders for word in ("-isystem", str(folder))]
    command = ["arm-none-eabi-g++", "-Wall", "-Wextra", "-Werror", "-O2", "-c", *flags, *own, *system]
    source = tmp_path / "app/lib/app/camera_bus_wire.cpp"
    result = subprocess.run(
        [*command, "-o", str(tmp_path / "bus.o"), str(source)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
