"""An emulated application with the micro front end, and one whose emulator ends too early."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from arenite.errors import DeviceError
from arenite.host.app.emulated_run import run_emulated
from arenite.host.app.generate import generate_app
from arenite.host.app.play import play
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import load_board
from tests.host.app.sound_models import MICRO, sound_model, sounds

pytestmark = [pytest.mark.slow, pytest.mark.qemu]
BOARD = load_board("qemu_mps2_an386")


def test_the_micro_front_end_gives_the_events_of_the_reference(tmp_path: Path) -> None:
    playback = play(
        generate_app(sound_model(tmp_path / "ear.tflite", sound=MICRO), BOARD, tmp_path / "app"), sounds(10)
    )
    assert playback.expected is not None and len(playback.expected) > 10
    assert playback.is_equal, (playback.events, playback.expected)


def test_the_end_of_the_emulator_is_told(tmp_path: Path) -> None:
    generate_app(sound_model(tmp_path / "ear.tflite"), BOARD, tmp_path / "app")
    lines = run_emulated(direct_build(tmp_path / "app"), BOARD, sounds(2))
    assert next(lines).startswith("Started")
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    qemu = next(pid for pid in map(int, children) if b"qemu" in Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(qemu, signal.SIGKILL)
    with pytest.raises(DeviceError, match="The emulator of qemu_mps2_an386 ended"):
        for _ in lines:
            pass
