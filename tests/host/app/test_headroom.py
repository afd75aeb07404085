"""The predicted instructions of applications are those that the running device measures, within two percent. Virtual
time makes both independent of the computer's load."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.anomaly.head import AnomalyHead
from arenite.firmware.sizes.instructions import Count
from arenite.host.app.applications import application_image
from arenite.host.app.fit_app import fit_app
from arenite.host.app.generate import App, generate_app
from arenite.host.app.headroom import Headroom
from arenite.host.app.measured_time import parse_status, predicted_duty, time_lines
from arenite.host.app.overload import Choices, overload_warnings
from arenite.host.app.play import Playback, play
from arenite.host.build.prepare import prepare
from arenite.profiles.board import Board
from arenite.profiles.boards import load_board
from tests.docs.schemas import problems
from tests.host.app.motion_models import motion_model, motions
from tests.host.app.sound_models import MICRO, SOUND, STEP, sound_model, sounds

M4F = load_board("qemu_mps2_an386")
#: The largest relative error of the prediction.
TOLERANCE = 0.02
STATUS = (
    "96000 samples, 0 lost, 51 windows, 3 gated, 0 late, 0 times stuck, 1 times silent, 0 lines dropped, slowest "
    "window 60.71% of its time, mean 60.47%, first 299.01%"
)


def assert_predicted(application: App, playback: Playback) -> None:
    headroom, measured = application.headroom, playback.measured
    assert headroom is not None and measured is not None and not headroom.unmeasured
    assert measured.windows > 10
    assert 100 * headroom.duty == pytest.approx(measured.mean_percent, rel=TOLERANCE)
    assert 100 * headroom.share(measured.lines, measured.samples) == pytest.approx(
        measured.worst_percent, rel=TOLERANCE
    )
    assert 100 * headroom.share() >= measured.worst_percent * (1 - TOLERANCE)
    duty = predicted_duty(headroom)
    assert (duty is None) == (headroom.duty >= 1)
    if duty is not None:
        assert 100 * duty == pytest.approx(measured.mean_percent, rel=TOLERANCE)


@pytest.mark.qemu
def test_a_small_application_takes_the_predicted_time(tmp_path: Path) -> None:
    application = generate_app(sound_model(tmp_path / "ear.tflite"), M4F, tmp_path / "app")
    playback = play(application, sounds(1.5))
    assert_predicted(application, playback)
    assert not problems({**application.to_json(), "playback": playback.to_json()})
    told = time_lines(application.headroom, playback.measured)
    assert [line.split(":")[0] for line in told] == [
        "Predicted",
        "Measured",
        "Predicted for the events of this recording",
        "Duty",
    ]


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("board", ["qemu_mps2_an385", "qemu_mps2_an386", "qemu_mps2_an500"])
@pytest.mark.parametrize("name", ["wake_okay_nabu", "wake_alexa", "micro_speech", "sww01"])
def test_shipped_applications_take_the_predicted_time(name: str, board: str, tmp_path: Path) -> None:
    if (name, board) == ("sww01", "qemu_mps2_an385"):
        pytest.skip("a Cortex-M3 is too slow for sww01")
    application = generate_app(prepare(application_image(name)), load_board(board), tmp_path / "app")
    assert_predicted(application, play(application, sounds(4)))


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("board", ["qemu_mps2_an385", "qemu_mps2_an386", "qemu_mps2_an500"])
@pytest.mark.parametrize("kind", ["sound", "micro", "motion", "adc"])
def test_other_front_ends_take_the_predicted_time(kind: str, board: str, tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    if kind in ("motion", "adc"):
        axes, sensor = (3, "imu") if kind == "motion" else (1, "adc")
        application = generate_app(
            motion_model(path, axes), load_board(board), tmp_path / "app", sensor=sensor
        )
        samples = motions(10, axes)
    else:
        prepared = sound_model(path, sound=SOUND if kind == "sound" else MICRO)
        application = generate_app(prepared, load_board(board), tmp_path / "app")
        samples = sounds(4)
    assert_predicted(application, play(application, samples))


HEADS = {
    "diagonal": AnomalyHead(warmup=64, memory=256, hop=4 * STEP),
    "low rank": AnomalyHead(warmup=64, memory=256, hop=4 * STEP, rank=2),
    "classes": AnomalyHead(warmup=64, memory=256, hop=4 * STEP, classes=4),
}


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("board", ["qemu_mps2_an385", "qemu_mps2_an386", "qemu_mps2_an500"])
@pytest.mark.parametrize("kind", list(HEADS))
def test_learning_takes_the_predicted_time(kind: str, board: str, tmp_path: Path) -> None:
    prepared = sound_model(tmp_path / "fan.tflite", None, softmax=False, anomaly=HEADS[kind])
    application = generate_app(prepared, load_board(board), tmp_path / "app")
    playback = play(application, sounds(6))  # at the end of the warm-up, the state is saved
    assert_predicted(application, playback)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("board", ["qemu_mps2_an500"])
def test_machine_sounds_take_the_predicted_time(board: str, tmp_path: Path) -> None:
    application = generate_app(
        prepare(application_image("machine_sounds")), load_board(board), tmp_path / "app"
    )
    headroom, measured = application.headroom, play(application, np.resize(sounds(10), 16000 * 90)).measured
    assert headroom is not None and measured is not None and not headroom.unmeasured
    assert 100 * headroom.duty == pytest.approx(measured.mean_percent, rel=TOLERANCE)
    # The save of this large state takes several windows, and the prediction adds it to one.
    assert measured.worst_percent > measured.mean_percent + 1
    assert 100 * headroom.share() >= measured.worst_percent * (1 - TOLERANCE)


def test_an_application_that_learns_has_a_prediction(tmp_path: Path) -> None:
    def predicted(name: str, head: AnomalyHead | None) -> Headroom:
        prepared = sound_model(tmp_path / f"{name}.tflite", softmax=False, anomaly=head)
        headroom = generate_app(prepared, M4F, tmp_path / name).headroom
        assert headroom is not None
        return headroom

    plain = predicted("plain", None)
    learning = {name: predicted(name, head) for name, head in HEADS.items()}
    assert plain.mean < learning["diagonal"].mean < learning["classes"].mean < learning["low rank"].mean
    # The slowest window saves the state, and has longer lines.
    assert learning["diagonal"].worst(0) - learning["diagonal"].mean > plain.worst(0) - plain.mean
    assert learning["diagonal"].lines.most(1) > plain.lines.most(1)


def test_the_prediction_needs_no_compiler_and_is_told_as_json(tmp_path: Path) -> None:
    prepared = sound_model(tmp_path / "ear.tflite")
    (tmp_path / "app.toml").write_text('board = "qemu_mps2_an386"\n')
    fit = fit_app(prepared.path, tmp_path / "app.toml")
    assert not problems(fit.to_json())
    headroom = fit.headroom
    assert headroom is not None and headroom.kind == "predicted"
    record = headroom.to_json()
    parts = record["instructions_per_hop"]
    assert (
        abs(sum(parts[name] for name in ("features", "inference", "decision", "loop")) - parts["mean"]) <= 2
    )
    assert parts["mean"] < parts["worst"] < headroom.per_hop
    assert record["headroom_percent"] == pytest.approx(100 - record["worst_percent"])
    assert headroom.worst(0) < headroom.worst(1) < headroom.worst(2) == headroom.worst()


def test_a_build_for_size_has_no_prediction(tmp_path: Path) -> None:
    application = generate_app(sound_model(tmp_path / "ear.tflite"), M4F, tmp_path / "app", optimise="flash")
    assert application.headroom is None and application.to_json()["headroom"] is None


def test_a_window_that_takes_too_long_is_warned_of_with_what_helps(tmp_path: Path) -> None:
    application = generate_app(sound_model(tmp_path / "ear.tflite"), M4F, tmp_path / "app")
    usual, hop = application.headroom, application.settings.hop
    assert usual is not None and not application.warnings
    boards = [load_board(name) for name in ("qemu_mps2_an385", "qemu_mps2_an500")]

    def slowed(board: Board, optimise: str, other_hop: int, duty: float = 1.3) -> Headroom | None:
        """Return the headroom of a model with more work, which is less on one board and for one goal."""
        if optimise == "flash":
            return None
        saved = 0.5 if board.name == "qemu_mps2_an500" or optimise == "speed" else 1.0
        more = usual.per_hop * duty * saved
        return replace(usual, inference=Count(more, more), hop_s=other_hop / application.settings.rate)

    hops = range(STEP, 3 * hop + 1, STEP)
    choices = Choices(M4F, "balanced", hop, hops, boards, ("speed", "ram", "flash"))
    (warning,) = overload_warnings(slowed(M4F, "balanced", hop), choices, slowed)
    assert "windows will be late and samples lost" in warning
    longer = hop + 3 * STEP  # 159.3% of the usual time, so 162.5% are needed
    assert f"Set hop in [decision] to {longer} or more, up to {3 * hop} (" in warning
    assert "or use --optimise speed (" in warning and "--optimise ram" not in warning
    assert "or choose qemu_mps2_an500 (" in warning and "an385" not in warning
    (warning,) = overload_warnings(
        slowed(M4F, "balanced", hop, 0.714),
        replace(choices, hops=range(STEP, hop + 1, STEP), boards=(), goals=()),
        slowed,
    )
    assert "single windows may be late. Choose a board that is 1." in warning
    assert not overload_warnings(slowed(M4F, "balanced", hop, 0.1), choices, slowed)


def test_a_faster_goal_that_is_not_enough_is_named_as_such(tmp_path: Path) -> None:
    application = generate_app(sound_model(tmp_path / "ear.tflite"), M4F, tmp_path / "app")
    usual, hop = application.headroom, application.settings.hop
    assert usual is not None
    duties = {"flash": 4.0, "speed": 1.5, "ram": 2.0}

    def slowed(board: Board, optimise: str, other_hop: int) -> Headroom | None:
        more = usual.per_hop * duties[optimise]
        return replace(usual, inference=Count(more, more), hop_s=other_hop / application.settings.rate)

    choices = Choices(M4F, "flash", hop, range(STEP, hop + 1, STEP), (), ("speed", "ram"))
    (warning,) = overload_warnings(slowed(M4F, "flash", hop), choices, slowed)
    assert "--optimise speed alone is not enough, but faster (the slowest window then takes 1" in warning
    assert "--optimise ram" not in warning


def test_the_answer_to_status_is_read() -> None:
    measured = parse_status(STATUS, ())
    assert measured is not None
    assert (measured.mean_percent, measured.worst_percent, measured.first_percent) == (60.47, 60.71, 299.01)
    assert (measured.windows, measured.gated, measured.lines) == (51, 3, 0)
    assert measured.to_json()["headroom_percent"] == 39.29
    assert parse_status("No samples arrived for a second.", ()) is None


@pytest.mark.slow
@pytest.mark.qemu
def test_a_board_that_is_too_slow_is_told(tmp_path: Path) -> None:
    board = load_board("qemu_mps2_an385")
    application = generate_app(prepare(application_image("wake_okay_nabu")), board, tmp_path / "app")
    playback = play(application, np.zeros(32000, np.int16))
    assert application.headroom is not None and application.headroom.headroom < 0
    assert playback.measured is not None and playback.measured.worst_percent > 100
    (warning,) = application.warnings
    assert "windows will be late and samples lost. Choose qemu_mps2_an386 (" in warning
    assert "[decision]" not in warning  # this model hears all samples only with its own hop
