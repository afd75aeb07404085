"""A cascade on an emulated board finds the events of this computer, and runs and sleeps in the same windows."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from arenite.host.app.cascade.generate import generate_cascade
from arenite.host.app.cascade.reference import ReferenceCascade
from arenite.host.app.emulated_run import run_emulated
from arenite.host.app.generate import App
from arenite.host.app.play import play
from arenite.host.app.sensor_file import LOST, UNPLUGGED, Fault
from arenite.host.app.sensor_stream import IMU, MICROPHONE
from arenite.host.build.prepare import Prepared
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import load_board
from tests.host.app.cascade.cascade_models import GATE, LARGE_ROWS, motion_pair, sound_pair
from tests.host.app.motion_models import RATE as MOTION_RATE
from tests.host.app.motion_models import motions
from tests.host.app.sound_models import LENGTH, MICRO, RATE, ROWS, STEP, sounds

pytestmark = [pytest.mark.slow, pytest.mark.qemu]
M4F = load_board("qemu_mps2_an386")
RUNS = re.compile(
    r".* (\d+) windows, .* mean [\d.]+%, first [\d.]+%, (\w+) ran (\d+) times and slept (\d+), "
    r"(\w+) ran (\d+) times and slept (\d+)"
)


def assert_equal(application: App, samples: np.ndarray) -> ReferenceCascade:
    """Check events and runs on the board, and return the reference of the cascade."""
    playback = play(application, samples)
    assert playback.is_equal, (playback.events, playback.expected)
    assert application.cascade is not None
    reference = ReferenceCascade(application.cascade)
    events = list(reference.feed(samples.reshape(len(samples), -1)))
    assert len(events) == len(playback.events) > 4
    # Both models ran, and the large one slept.
    assert reference.windows > reference.large_runs > 10 and reference.large_slept > 10
    *_, status = run_emulated(
        direct_build(application.directory),
        application.board,
        samples,
        last_command="status",
        rate=application.settings.rate,
    )
    match = RUNS.fullmatch(status)
    assert match is not None, status
    counts = [int(match[k]) for k in (1, 3, 4, 6, 7)]
    runs = reference.windows - reference.gated
    assert counts == [reference.windows, runs, reference.gated, reference.large_runs, reference.large_slept]
    return reference


def cascade(
    models: tuple[Prepared, Prepared],
    folder: Path,
    hang_ms: float = 80,
    board: str = M4F.name,
    sensor: str = MICROPHONE,
) -> App:
    return generate_cascade(*models, load_board(board), folder / "app", hang_ms=hang_ms, sensor=sensor)


@pytest.mark.parametrize("board", ["qemu_mps2_an385", "qemu_mps2_an386", "qemu_mps2_an500"])
@pytest.mark.parametrize("is_shared", [False, True], ids=["own", "shared"])
def test_events_of_sound_are_those_of_the_reference(is_shared: bool, board: str, tmp_path: Path) -> None:
    application = cascade(sound_pair(tmp_path, is_shared, GATE), tmp_path, board=board)
    assert application.cascade is not None and application.cascade.is_shared == is_shared
    reference = assert_equal(application, sounds(20))
    assert reference.gated > 10


@pytest.mark.parametrize("is_shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("every", [1, 3])
def test_the_large_model_may_run_less_often(is_shared: bool, every: int, tmp_path: Path) -> None:
    application = cascade(sound_pair(tmp_path, is_shared, GATE, MICRO, every), tmp_path)
    reference = assert_equal(application, sounds(20, seed=9))
    assert reference.large_runs + reference.large_slept <= -(-reference.windows // every)


@pytest.mark.parametrize("rows", [(12, 31), (31, 12), (10, 13)])
def test_windows_of_any_length_end_together(rows: tuple[int, int], tmp_path: Path) -> None:
    application = cascade(sound_pair(tmp_path, rows=rows), tmp_path, hang_ms=200)
    reference = assert_equal(application, sounds(30, seed=5))
    first = [(count - 1) * STEP + LENGTH for count in rows]
    assert application.settings.window == max(first)
    assert reference.windows == (30 * RATE - first[0]) // application.settings.hop + 1


@pytest.mark.parametrize("has_gate", [False, True], ids=["always", "gated"])
@pytest.mark.parametrize("is_shared", [False, True], ids=["own", "shared"])
def test_events_of_motion_are_those_of_the_reference(is_shared: bool, has_gate: bool, tmp_path: Path) -> None:
    models = motion_pair(tmp_path, is_shared, has_gate, every=1 + has_gate)
    application = cascade(models, tmp_path, hang_ms=300, sensor=IMU)
    assert application.cascade is not None and application.cascade.is_shared == is_shared
    reference = assert_equal(application, motions(60))
    assert (reference.gated > 10) == has_gate


def test_a_model_with_state_wakes_without_memory(tmp_path: Path) -> None:
    application = cascade(sound_pair(tmp_path, remembers=True), tmp_path)
    samples = sounds(20)
    assert_equal(application, samples)
    # The test can tell: with what it remembers from before its sleep, the events differ.
    assert application.cascade is not None
    reference = ReferenceCascade(application.cascade)
    reference._large.forget_state = lambda: None  # type: ignore[method-assign]
    keeps = [(e.at, e.index, e.score) for e in reference.feed(samples[:, None])]
    forgets = [(e.at, e.index, e.score) for e in ReferenceCascade(application.cascade).feed(samples[:, None])]
    assert keeps != forgets


def test_both_models_start_again_after_a_long_gap(tmp_path: Path) -> None:
    application = cascade(sound_pair(tmp_path, gate=GATE), tmp_path)
    window = (LARGE_ROWS - 1) * STEP + LENGTH
    assert application.settings.window == window > (ROWS - 1) * STEP + LENGTH
    samples = sounds(20)
    first = next(e for e in play(application, samples).events if e.is_start)
    faults = [
        Fault(LOST, first.sample + 10, window + 1),
        Fault(LOST, 8 * RATE, 500),  # silence fills this gap
        Fault(UNPLUGGED, 12 * RATE, RATE),
    ]
    playback = play(application, samples, faults)
    assert playback.expected and playback.is_equal, (playback.events, playback.expected)
    ended = next(e for e in playback.events if not e.is_start)
    assert ended.sample == first.sample + 9  # the last sample before the gap


def test_a_gap_of_motion_is_filled(tmp_path: Path) -> None:
    application = cascade(motion_pair(tmp_path, has_gate=True), tmp_path, hang_ms=300, sensor=IMU)
    faults = [
        Fault(LOST, 14 * MOTION_RATE, 20),
        Fault(LOST, 30 * MOTION_RATE, 3 * application.settings.window),
    ]
    playback = play(application, motions(60), faults)
    assert playback.expected and playback.is_equal, (playback.events, playback.expected)
