"""Applications for real boards link with the frameworks of their boards. None of them ran on a board.

``PICO_SDK_PATH`` names a checkout of the Pico SDK, and ``ARENITE_DRIVER_HEADERS`` a folder with checkouts of the
repositories in ``offline_arduino.CHECKOUTS``, each by its name. Newlib for Arm must be installed. Without them, the
tests skip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.host.app.camera.generate import generate_camera_app
from arenite.host.app.generate import generate_app
from arenite.profiles.boards import load_board
from tests.host.app.camera.camera_models import gray_model
from tests.host.app.learning_models import learning_model
from tests.host.app.motion_models import motion_model
from tests.host.app.offline_arduino import CHECKOUTS, write_core_directory
from tests.host.app.sound_models import sound_model

HEADERS = Path(os.environ.get("ARENITE_DRIVER_HEADERS", "/nonexistent"))
PICO_SDK = Path(os.environ.get("PICO_SDK_PATH", "/nonexistent"))


def _require(*tools: str) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    specs = subprocess.run(
        ["arm-none-eabi-gcc", "-print-file-name=nosys.specs"], capture_output=True, text=True
    )
    if not Path(specs.stdout.strip()).is_absolute():
        pytest.skip("needs newlib for Arm (libnewlib-arm-none-eabi, libstdc++-arm-none-eabi-newlib)")


def _run(*command: str | Path, **environment: str) -> str:
    env = os.environ | environment
    result = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=500, env=env)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


def _generate(board: str, sensor: str, tmp_path: Path, chip: str | None = None) -> Path:
    """Write an application, and return its folder. ``chip`` is that of a camera, or None for the usual one."""
    if sensor == "camera":
        generate_camera_app(gray_model(tmp_path), load_board(board), tmp_path / "app", chip=chip)
        return tmp_path / "app"
    if sensor == "learning":
        generate_app(learning_model(tmp_path), load_board(board), tmp_path / "app")
        return tmp_path / "app"
    make = sound_model if sensor == "microphone" else motion_model
    generate_app(make(tmp_path / "m.tflite"), load_board(board), tmp_path / "app", sensor=sensor)
    return tmp_path / "app"


def _symbols(elf: Path) -> set[str]:
    return {line.split()[-1] for line in _run("arm-none-eabi-nm", elf).splitlines()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sensor", "chip", "functions"),
    [
        ("microphone", None, {"pdm_decimate", "dma_claim_unused_channel"}),
        ("imu", None, {"imu_start", "i2c_init"}),
        ("adc", None, {"adc_init", "dma_claim_unused_channel"}),
        *(
            ("camera", chip, {"camera_hand_over", "camera_chip_start", "pio_add_program"})
            for chip in ("hm01b0", "ov7670", "ov2640", "ov5640")
        ),
        ("learning", None, {"learning_flash", "ar_store_step", "flash_range_erase"}),
    ],
)
def test_the_pico_sdk_links_an_application(
    sensor: str, chip: str | None, functions: set[str], tmp_path: Path
) -> None:
    if not (PICO_SDK / "pico_sdk_init.cmake").exists():
        pytest.skip("needs a checkout of the Pico SDK (PICO_SDK_PATH)")
    _require("cmake", "ninja", "arm-none-eabi-g++", "arm-none-eabi-nm")
    folder, build = _generate("pico", sensor, tmp_path, chip), tmp_path / "build"
    _run("cmake", "-G", "Ninja", "-S", folder, "-B", build, "-DPICO_NO_PICOTOOL=1")
    _run("ninja", "-C", build)
    assert {"main", "app_next_event", "console_port_put", *functions} <= _symbols(build / "firmware.elf")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("board", "sensor", "functions"),
    [
        ("zeroUSB", "microphone", {"I2S_Handler", "sensor_start"}),
        ("nano_33_iot", "imu", {"imu_start", "imu_bus_read"}),
    ],
)
def test_platformio_links_an_application_with_an_arduino_core(
    board: str, sensor: str, functions: set[str], tmp_path: Path
) -> None:
    for name in CHECKOUTS:
        if not (HEADERS / name).is_dir():
            pytest.skip(f"needs a checkout {HEADERS / name} (ARENITE_DRIVER_HEADERS)")
    pytest.importorskip("platformio")
    pytest.importorskip("SCons")
    _require("arm-none-eabi-g++", "arm-none-eabi-nm")
    folder, core = _generate(board, sensor, tmp_path), tmp_path / "core"
    write_core_directory(core, HEADERS)
    _run(
        *(sys.executable, "-m", "platformio", "run", "-d", folder),
        PLATFORMIO_CORE_DIR=str(core),
        PLATFORMIO_SETTING_ENABLE_TELEMETRY="0",
        PLATFORMIO_SETTING_CHECK_PLATFORMIO_INTERVAL="3650",
    )
    names = _symbols(folder / f".pio/build/{board}/firmware.elf")
    assert {"arenite_user_main", "app_next_event", "console_port_put", *functions} <= names
