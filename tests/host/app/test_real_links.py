"""Applications for real boards link with the frameworks of their boards. None of them ran on a board.

``PICO_SDK_PATH`` names a checkout of the Pico SDK; newlib for Arm must be installed. Without them, the tests skip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from arenite.host.app.generate import generate_app
from arenite.profiles.boards import load_board
from tests.host.app.motion_models import motion_model
from tests.host.app.sound_models import sound_model

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


def _run(*command: str | Path) -> str:
    result = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=500)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sensor", "functions"),
    [
        ("microphone", {"pdm_decimate", "dma_claim_unused_channel"}),
        ("imu", {"imu_start", "i2c_init"}),
    ],
)
def test_the_pico_sdk_links_an_application(sensor: str, functions: set[str], tmp_path: Path) -> None:
    if not (PICO_SDK / "pico_sdk_init.cmake").exists():
        pytest.skip("needs a checkout of the Pico SDK (PICO_SDK_PATH)")
    _require("cmake", "ninja", "arm-none-eabi-g++", "arm-none-eabi-nm")
    make = sound_model if sensor == "microphone" else motion_model
    folder, build = tmp_path / "app", tmp_path / "build"
    generate_app(make(tmp_path / "m.tflite"), load_board("pico"), folder, sensor=sensor)
    _run("cmake", "-G", "Ninja", "-S", folder, "-B", build, "-DPICO_NO_PICOTOOL=1")
    _run("ninja", "-C", build)
    symbols = _run("arm-none-eabi-nm", build / "firmware.elf")
    names = {line.split()[-1] for line in symbols.splitlines()}
    assert {"main", "app_next_event", "console_port_put", *functions} <= names
