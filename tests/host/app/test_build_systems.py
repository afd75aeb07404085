"""CMake and PlatformIO build an application for an emulated board, with the same program as `arenite build`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.host.app.emulated_run import parse_event, run_emulated
from arenite.host.app.generate import generate_app
from arenite.host.app.play import play
from arenite.host.flash.build import build, direct_build
from arenite.profiles.boards import load_board
from tests.host.app.sound_models import sound_model, sounds

pytestmark = [pytest.mark.slow, pytest.mark.qemu]
BOARD = load_board("qemu_mps2_an386")


def _memory(elf: Path) -> bytes:
    """Return the bytes that ``elf`` loads to memory."""
    image = elf.with_suffix(".bin")
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", str(elf), str(image)], check=True)
    return image.read_bytes()


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")
@pytest.mark.parametrize("optimise", ["balanced", "flash"])
def test_cmake_builds_the_program_of_the_recipe(optimise: str, tmp_path: Path) -> None:
    folder = tmp_path / "app"
    application = generate_app(
        sound_model(tmp_path / "ear.tflite"), BOARD, folder, project="cmake", optimise=optimise
    )
    for command in (["-S", str(folder), "-B", str(folder / "build")], ["--build", str(folder / "build")]):
        result = subprocess.run(["cmake", *command], capture_output=True, text=True, timeout=300)
        assert result.returncode == 0, result.stdout + result.stderr
        assert "warning" not in (result.stdout + result.stderr).lower()
    elf = folder / "build/firmware.elf"
    assert _memory(elf) == _memory(direct_build(folder))
    events = [
        event for line in run_emulated(elf, BOARD, sounds(10)) if (event := parse_event(line)) is not None
    ]
    playback = play(application, sounds(10))
    assert playback.is_equal and len(events) > 10
    assert tuple(events) == playback.events


def test_platformio_builds_the_program_of_the_recipe(tmp_path: Path) -> None:
    """PlatformIO has an empty home folder and no settings, and its proxy does not answer."""
    folder, home = tmp_path / "app", tmp_path / "home"
    home.mkdir()
    generate_app(sound_model(tmp_path / "ear.tflite"), BOARD, folder, project="platformio")
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PLATFORMIO")}
    result = subprocess.run(
        [sys.executable, "-m", "platformio", "run", "--project-dir", str(folder)],
        env={**environment, **proxies, "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    elf = folder / ".pio/build" / BOARD.name / "firmware.elf"
    assert elf.read_bytes() == direct_build(folder).read_bytes()
    assert build(folder) == elf
