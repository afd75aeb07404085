"""An application on an emulated board finds the events of this computer, and lives through faults of its sensor."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arenite.host.app.emulated_run import SENSOR_FILE, parse_event, run_emulated
from arenite.host.app.generate import App, generate_app
from arenite.host.app.play import play
from arenite.host.app.sensor_file import LATE, LOST, STUCK, UNPLUGGED, Fault, sensor_bytes
from arenite.host.emulator.machine import start
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import load_board
from tests.host.app.file_position import wait_until_read
from tests.host.app.sound_models import DECISION, RATE, sound_model, sounds

pytestmark = [pytest.mark.slow, pytest.mark.qemu]
STATUS = re.compile(
    r"(\d+) samples, (\d+) lost, (\d+) windows, (\d+) gated, (\d+) late, (\d+) times stuck, (\d+) times silent, "
    r"(\d+) lines dropped, slowest window ([\d.]+)% of its time, mean ([\d.]+)%, first ([\d.]+)%"
)


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> App:
    folder = tmp_path_factory.mktemp("app")
    return generate_app(sound_model(folder / "ear.tflite"), load_board("qemu_mps2_an386"), folder / "app")


@pytest.mark.parametrize("board", ["qemu_mps2_an385", "qemu_mps2_an386", "qemu_mps2_an500"])
def test_every_event_is_at_the_sample_of_the_reference(board: str, tmp_path: Path) -> None:
    application = generate_app(sound_model(tmp_path / "ear.tflite"), load_board(board), tmp_path / "app")
    playback = play(application, sounds(20))
    assert playback.expected is not None and len(playback.expected) > 10
    assert {event.label for event in playback.events} >= {"hiss", 'a "tone"'}
    assert playback.is_equal, (playback.events, playback.expected)
    assert not any("lost" in line for line in playback.lines)


def test_exclusive_or_not_events_are_those_of_the_reference(tmp_path: Path) -> None:
    decision = replace(
        DECISION, exclusive=False, smooth="exponential", factor=0.4, hops=1, refractory_ms=120.0
    )
    application = generate_app(
        sound_model(tmp_path / "ear.tflite", decision), load_board("qemu_mps2_an386"), tmp_path / "app"
    )
    playback = play(application, sounds(20, seed=8))
    assert playback.expected and playback.is_equal


def test_scores_before_the_sigmoid_are_printed_as_probabilities(tmp_path: Path) -> None:
    prepared = sound_model(tmp_path / "ear.tflite", replace(DECISION, logits=True), softmax=False)
    application = generate_app(prepared, load_board("qemu_mps2_an386"), tmp_path / "app")
    playback = play(application, sounds(10))
    assert playback.expected and playback.is_equal
    assert all(60 <= event.percent <= 100 for event in playback.events if event.percent is not None)


def test_faults_of_the_sensor_are_told_and_the_application_lives_on(application: App) -> None:
    samples = sounds(16)
    faults = [
        Fault(LOST, 2 * RATE, 500),
        Fault(LATE, 4 * RATE, 300),
        Fault(STUCK, 6 * RATE, 2 * RATE),
        Fault(UNPLUGGED, 10 * RATE, 3 * RATE),
    ]
    playback = play(application, samples, faults)
    assert playback.expected is None and playback.is_equal is None
    notes = [line for line in playback.lines if parse_event(line) is None]
    assert [re.sub(r"^\[.*?\] ", "", note) for note in notes] == [
        f"Started; samples per second: {RATE}",
        "500 samples were lost",
        "The samples did not change for a second.",
        "No samples arrived for a second.",
        "Samples arrive again.",
    ]
    assert any(event.sample > 14 * RATE for event in playback.events)
    # Without samples in between, the events before the first fault are those of a sensor without faults.
    first = [event for event in playback.events if event.sample < 2 * RATE]
    assert first == [
        event for event in play(application, samples[: 3 * RATE]).events if event.sample < 2 * RATE
    ]


def test_commands_are_answered(application: App) -> None:
    lines = list(
        run_emulated(
            direct_build(application.directory), application.board, sounds(2), commands=["status", "hello"]
        )
    )
    assert any(STATUS.fullmatch(line) for line in lines)
    assert "Unknown command. The commands are status, binary and text (docs/app.md)" in lines


def test_the_counts_are_asked_for_after_the_last_sample(application: App) -> None:
    elf = direct_build(application.directory)
    *_, last = run_emulated(elf, application.board, sounds(2), last_command="status")
    match = STATUS.fullmatch(last)
    assert match is not None and int(match[1]) == 2 * RATE


def test_nobody_reads_the_serial_port_for_ten_minutes(application: App, tmp_path: Path) -> None:
    """The emulator's output is not read until all samples were heard. The application has dropped lines, counted them,
    and missed no window."""
    seconds = 600
    minute = sounds(60)
    data = sensor_bytes(np.tile(minute, seconds // 60))
    (tmp_path / SENSOR_FILE).write_bytes(data)
    elf = direct_build(application.directory)
    with start(application.board, elf, skip_sleep=True, folder=tmp_path) as machine:
        assert wait_until_read(machine.process.pid, SENSOR_FILE, len(data))
        text = ""
        end = time.monotonic() + 60
        # A read may end inside a line: the answer is there once its line has ended.
        while (match := re.search(rf"^{STATUS.pattern}\r?\n", text, re.MULTILINE)) is None:
            assert time.monotonic() < end, text[-500:]
            machine.transport.write(b"status\n")
            text += machine.transport.read(1.0).decode()
    samples, lost, windows, gated, late, stuck, _, dropped = map(int, match.groups()[:8])
    settings = application.settings
    assert samples == seconds * RATE
    assert windows == (samples - settings.window) // settings.hop + 1
    assert (lost, gated, late, stuck) == (0, 0, 0, 0)
    assert dropped > 1000
    before = text[: match.start()]
    told = sum(
        int(count) for count in re.findall(r"^(\d+) lines? (?:was|were) dropped$", before, re.MULTILINE)
    )
    assert told == dropped
