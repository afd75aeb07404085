"""An application with a sensor of several channels finds the events of this computer, with and without a gate, through
gaps, on each emulated board."""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from arenite.host.app.emulated_run import END, SENSOR_FILE
from arenite.host.app.generate import App, generate_app
from arenite.host.app.play import play
from arenite.host.app.reference import ReferenceApp
from arenite.host.app.sensor_file import LOST, STUCK, UNPLUGGED, Fault, sensor_bytes
from arenite.host.app.sensor_stream import ADC, IMU
from arenite.host.emulator.machine import start
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import load_board
from tests.host.app.motion_models import GATE, HOP, RATE, WINDOW, motion_model, motions

pytestmark = [pytest.mark.slow, pytest.mark.qemu]
AN386 = load_board("qemu_mps2_an386")


@pytest.mark.parametrize("board", ["qemu_mps2_an385", "qemu_mps2_an386", "qemu_mps2_an500"])
def test_events_of_motion_are_those_of_the_reference(board: str, tmp_path: Path) -> None:
    application = generate_app(
        motion_model(tmp_path / "wrist.tflite"), load_board(board), tmp_path / "app", sensor=IMU
    )
    playback = play(application, motions(60))
    assert playback.expected is not None and len(playback.expected) > 8
    assert {event.label for event in playback.events} >= {"shake", "turn"}
    assert playback.is_equal, (playback.events, playback.expected)
    assert all(event.sample % HOP == (WINDOW - 1) % HOP for event in playback.events)
    assert not any("lost" in line for line in playback.lines)


@pytest.mark.parametrize("channels", [1, 2, 5])
def test_raw_windows_of_several_channels_reach_the_model(channels: int, tmp_path: Path) -> None:
    prepared = motion_model(tmp_path / "volts.tflite", channels, is_raw=True)
    application = generate_app(prepared, AN386, tmp_path / "app", sensor=ADC)
    playback = play(application, motions(60, channels))
    assert playback.expected and playback.is_equal, (playback.events, playback.expected)


def test_a_closed_gate_lets_the_model_sleep(tmp_path: Path) -> None:
    prepared = motion_model(tmp_path / "wrist.tflite", gate=GATE)
    application = generate_app(prepared, AN386, tmp_path / "app", sensor=IMU)
    samples = motions(40)
    playback = play(application, samples)
    assert playback.expected and playback.is_equal, (playback.events, playback.expected)
    reference = ReferenceApp(prepared)
    list(reference.feed(samples))
    assert 0 < reference.gated < reference.windows == (len(samples) - WINDOW) // HOP + 1
    assert _counts_at_the_end(application, samples) == (len(samples), reference.windows, reference.gated)


def _counts_at_the_end(application: App, samples: np.ndarray) -> tuple[int, ...]:
    """Return the samples, windows and gated windows in the answer to "status" after all samples."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / SENSOR_FILE).write_bytes(sensor_bytes(samples, rate=RATE))
        elf = direct_build(application.directory)
        with start(application.board, elf, skip_sleep=True, folder=Path(name)) as machine:
            text, is_asked, end = "", False, time.monotonic() + 120
            while time.monotonic() < end:
                text += machine.transport.read(0.2).decode()
                if END in text and not is_asked:
                    machine.transport.write(b"status\n")
                    is_asked = True
                if match := re.search(r"(\d+) samples, \d+ lost, (\d+) windows, (\d+) gated, .*\n", text):
                    return tuple(map(int, match.groups()))
    raise AssertionError(text)


def test_a_long_gap_ends_events_and_a_short_one_is_filled(tmp_path: Path) -> None:
    prepared = motion_model(tmp_path / "wrist.tflite", gate=GATE)
    application = generate_app(prepared, AN386, tmp_path / "app", sensor=IMU)
    samples = motions(60)
    whole = play(application, samples)
    first = next(e for e in whole.events if e.is_start)
    faults = [
        Fault(LOST, first.sample + 10, 3 * WINDOW),
        Fault(LOST, first.sample + 10 + 6 * WINDOW, 20),
        Fault(STUCK, 40 * RATE, 200),
        Fault(UNPLUGGED, 50 * RATE, 400),
    ]
    playback = play(application, samples, faults)
    assert playback.expected and playback.is_equal, (playback.events, playback.expected)
    ended = [e for e in playback.events if not e.is_start and e.label == first.label]
    assert ended[0].sample == first.sample + 9  # the last sample before the gap
    notes = [re.sub(r"^\[.*?\] ", "", line) for line in playback.lines]
    assert f"{3 * WINDOW} samples were lost" in notes and "20 samples were lost" in notes
    assert "The samples did not change for a second." in notes and "No samples arrived for a second." in notes


def test_the_sensor_of_one_channel_may_be_flat(tmp_path: Path) -> None:
    application = generate_app(
        motion_model(tmp_path / "volts.tflite", 1, is_raw=True), AN386, tmp_path / "app", sensor=ADC
    )
    samples = np.r_[motions(20, 1)[:, 0], motions(20, 1)[:, 0]]
    assert play(application, samples).is_equal
