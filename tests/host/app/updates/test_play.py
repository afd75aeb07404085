"""Applications with updates find the events of this computer, and a retrained model does not change their firmware."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arenite.host.app.generate import App, generate_app
from arenite.host.app.play import play
from arenite.host.app.sensor_stream import IMU, MICROPHONE
from arenite.host.app.updates import AppUpdates
from arenite.host.build.prepare import Prepared
from arenite.host.live.connection import Ended
from arenite.host.live.emulated import emulated_app, emulated_messages
from arenite.host.live.messages import EventMessage
from arenite.host.update.keys import generate_key
from arenite.profiles.boards import load_board
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, library_or_skip
from tests.host.app.motion_models import GATE, motion_model, motions
from tests.host.app.sound_models import DECISION, MICRO, sound_model, sounds
from tests.host.app.updates.device import signed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.qemu,
    pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL),
    pytest.mark.skipif(
        shutil.which("arm-none-eabi-gcc") is None, reason="arm-none-eabi-gcc is not installed"
    ),
    pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed"),
]
#: A model with random weights of this seed in a file.
Make = Callable[[Path, int], Prepared]


def _moves(path: Path, seed: int) -> Prepared:
    return motion_model(path, gate=GATE, seed=seed)


def _listens(path: Path, seed: int) -> Prepared:
    return sound_model(path, seed=seed, scale=0.14 + seed / 1600)


def _remembers(path: Path, seed: int) -> Prepared:
    return sound_model(path, sound=MICRO, seed=seed, remembers=True)


def _gives_logits(path: Path, seed: int) -> Prepared:
    return sound_model(
        path, replace(DECISION, logits=True, threshold=0.5 + seed / 100), softmax=False, seed=seed
    )


def _app(folder: Path, make: Make, seed: int, board: str) -> App:
    key = folder / "release.pem"
    if not key.exists():
        generate_key(key)
    prepared = make(folder / f"model{seed}.tflite", seed)
    sensor = IMU if make is _moves else MICROPHONE
    updates = AppUpdates(key, f"1.{seed}.0")
    return generate_app(prepared, load_board(board), folder / f"app{seed}", sensor=sensor, updates=updates)


@pytest.mark.parametrize("make", [_moves, _listens, _remembers, _gives_logits])
def test_a_retrained_model_has_the_same_firmware(make: Make, tmp_path: Path) -> None:
    first, second = (signed(_app(tmp_path, make, seed, "qemu_mps2_an386")) for seed in (5, 16))
    assert first.images.abi == second.images.abi
    assert first.images.model.read_bytes() != second.images.model.read_bytes()


@pytest.mark.parametrize(
    ("make", "board"),
    [
        (_moves, "qemu_mps2_an385"),
        (_moves, "qemu_mps2_an386"),
        (_moves, "qemu_mps2_an500"),
        (_listens, "qemu_mps2_an386"),
        (_remembers, "qemu_mps2_an386"),
        (_gives_logits, "qemu_mps2_an386"),
    ],
)
def test_events_are_those_of_the_reference(make: Make, board: str, tmp_path: Path) -> None:
    library_or_skip("ed25519")
    app = _app(tmp_path, make, 16, board)
    playback = play(app, motions(60) if make is _moves else sounds(20))
    assert playback.lines[3:5] == ("update none", "self-test 3 samples passed")
    assert playback.expected and playback.is_equal, (playback.events, playback.expected)
    assert not any("lost" in line for line in playback.lines)


def test_the_live_view_runs_the_application_behind_the_boot_loader(tmp_path: Path) -> None:
    library_or_skip("ed25519")
    app = _app(tmp_path, _moves, 16, "qemu_mps2_an386")
    np.save(tmp_path / "motions.npy", motions(60))
    running = emulated_app(app.directory, "qemu_mps2_an386")
    messages = list(emulated_messages(running, [tmp_path / "motions.npy"], lambda: False, is_real_time=False))
    expected = play(app, motions(60)).events
    events = [(m.at, m.is_start) for m in messages if isinstance(m, EventMessage)]
    assert events == [(e.sample, e.is_start) for e in expected] and events
    assert messages[-1] == Ended()
