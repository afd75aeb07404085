"""An application on an emulated board learns what is normal and the classes of a user, as this computer does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.anomaly.head import AnomalyHead
from arenite.errors import UsageError
from arenite.host.app.flash_memory import flash_contents, newest_record
from arenite.host.app.generate import generate_app
from arenite.host.app.play import play
from arenite.host.app.sensor_file import LOST, Fault
from arenite.profiles.boards import load_board
from tests.host.app.sound_models import DECISION, RATE, STEP, sound_model, sounds

pytestmark = [pytest.mark.slow, pytest.mark.qemu]
BOARD = load_board("qemu_mps2_an386")
HEAD = AnomalyHead(warmup=64, memory=256, sigmas=2.0, hop=4 * STEP)


def hum(seconds: float, seed: int = 1) -> np.ndarray:
    """Return int16 samples of a steady noise."""
    return np.random.default_rng(seed).normal(0, 800, round(seconds * RATE)).astype(np.int16)


def with_knocks(seconds: float, seed: int = 2) -> np.ndarray:
    """Return the same noise, with a loud tone in every third second from second 6 on."""
    samples = hum(seconds, seed).astype(float)
    t = np.arange(len(samples)) / RATE
    samples += np.where((t > 6) & (t % 3 < 0.5), 9000 * np.sin(2 * np.pi * 2500 * t), 0)
    return samples.astype(np.int16)


@pytest.mark.parametrize("rank", [0, 1])
def test_alarms_are_those_of_this_computer(rank: int, tmp_path: Path) -> None:
    prepared = sound_model(
        tmp_path / "fan.tflite", None, softmax=False, anomaly=replace(HEAD, rank=rank, minimum=2)
    )
    application = generate_app(prepared, BOARD, tmp_path / "app")
    playback = play(application, with_knocks(16))
    assert playback.expected and playback.is_equal, (playback.events, playback.expected)
    assert {event.label for event in playback.events} == {"anomaly"}
    assert all(event.detail for event in playback.events if event.is_start)
    assert "Learns what is normal; windows until the first alarm: 64" in playback.lines


def test_an_alarm_ends_at_a_gap(tmp_path: Path) -> None:
    prepared = sound_model(tmp_path / "fan.tflite", None, softmax=False, anomaly=HEAD)
    application = generate_app(prepared, BOARD, tmp_path / "app")
    faults = [Fault(LOST, 3 * RATE, 500), Fault(LOST, round(6.3 * RATE), RATE)]
    playback = play(application, with_knocks(12), faults)
    assert playback.expected and playback.is_equal, (playback.events, playback.expected)
    assert any(event.sample < 6.3 * RATE and not event.is_start for event in playback.events)


def test_a_second_run_continues_where_the_first_one_stopped(tmp_path: Path) -> None:
    prepared = sound_model(tmp_path / "fan.tflite", None, softmax=False, anomaly=HEAD)
    application, flash = generate_app(prepared, BOARD, tmp_path / "app"), tmp_path / "flash.bin"
    assert application.learning is not None
    first = play(application, hum(5), flash=flash)
    assert first.is_equal and first.lines[-1] == "The state was saved."
    record = newest_record(flash.read_bytes(), application.learning, application.image_sha256)
    assert (
        record is not None
        and record["head"]["count"] == (5 * RATE - application.settings.window) // (4 * STEP) + 1
    )
    second = play(application, with_knocks(10, seed=5)[6 * RATE :], flash=flash)
    assert f"Continues with the state in flash; windows learned: {record['head']['count']}" in second.lines
    assert second.expected and second.is_equal
    assert second.events[0].sample < 2 * RATE, "the warm-up began again"
    other = generate_app(
        sound_model(tmp_path / "fan.tflite", None, softmax=False, anomaly=replace(HEAD, sigmas=3.0)),
        BOARD,
        tmp_path / "app",
    )
    third = play(other, hum(2), flash=flash)
    assert third.lines[0].startswith("Learns what is normal"), "a new model took an old state"


def test_commands_teach_classes_and_stop_learning(tmp_path: Path) -> None:
    """A decision and an anomaly head with classes in one application; the examples survive a restart."""
    head = replace(HEAD, hop=0, classes=2)
    prepared = sound_model(tmp_path / "ear.tflite", DECISION, anomaly=head)
    application, flash = generate_app(prepared, BOARD, tmp_path / "app"), tmp_path / "flash.bin"
    samples = sounds(12)
    taught = play(application, samples, flash=flash, commands=["teach", "teach knock", "freeze", "teach a b"])
    assert taught.expected and taught.is_equal, (taught.events, taught.expected)
    assert "The next window is the example." in taught.lines
    assert sum(line.startswith("Send: teach NAME") for line in taught.lines) == 2
    assert any("examples of knock: 1 (sample" in line for line in taught.lines)
    assert any("learning stopped" in line for line in taught.lines)
    assert {event.label for event in taught.events} >= {"knock"}
    again = play(application, samples, flash=flash, commands=["learned", "teach 1", "learn", "forget 0"])
    assert again.expected and again.is_equal, (again.events, again.expected)
    assert "examples of knock: 1" in again.lines
    assert any("forgot knock" in line for line in again.lines)
    unknown = play(application, hum(1), commands=["forget cat", "sing"])
    assert any(line.startswith("There is no such class.") for line in unknown.lines)
    assert any("freeze, learn, reset, learned, save, teach, forget" in line for line in unknown.lines)


def test_a_flash_memory_of_another_application_is_refused(tmp_path: Path) -> None:
    prepared = sound_model(tmp_path / "fan.tflite", None, softmax=False, anomaly=HEAD)
    application = generate_app(prepared, BOARD, tmp_path / "app")
    (tmp_path / "flash.bin").write_bytes(b"\xff" * 100)
    assert application.learning is not None
    with pytest.raises(UsageError, match="has 100 bytes, but the flash memory"):
        flash_contents(tmp_path / "flash.bin", application.learning)
