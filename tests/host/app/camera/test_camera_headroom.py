"""The predicted instructions of applications with a camera are those that the running device measures, within two
percent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from arenite.converters.decision.record import Decision
from arenite.host.app.camera.frames import frame_of
from arenite.host.app.camera.generate import CameraApp, generate_camera_app
from arenite.host.app.camera.play import FramePlayback, parse_time, play_frames
from arenite.host.app.measured_time import time_lines
from arenite.host.build.prepare import Prepared, prepare
from arenite.profiles.boards import load_board
from tests.development_models import SHARED
from tests.docs.schemas import problems
from tests.host.app.camera.camera_models import DECISION, YUYV, picture_model, pictures
from tests.host.small_graphs import classifier

BOARDS = ["qemu_mps2_an386"]
#: The largest relative error of the prediction.
TOLERANCE = 0.02
FRAMES = 12
STATUS = (
    "12 frames, 12 answered, 0 dropped, 0 missing, 0 late, 1 times stuck, 0 times silent, 0 lines dropped, latency at "
    "most 324.2 ms, mean 323.7 ms, busiest frame 52.1% of its time, mean 51.9%, stack 692 of 800 bytes"
)


def run(
    prepared: Prepared, board: str, folder: Path, optimise: str = "balanced"
) -> tuple[CameraApp, FramePlayback]:
    application = generate_camera_app(prepared, load_board(board), folder / "app", optimise=optimise)
    size = application.settings.width
    frames = [
        frame_of(picture, application.pictures.plan)
        for picture in pictures(FRAMES * application.settings.hop, size)
    ]
    return application, play_frames(application, frames)


def assert_predicted(application: CameraApp, playback: FramePlayback) -> None:
    headroom, measured = application.headroom, playback.measured
    assert playback.is_complete and playback.is_equal
    assert headroom is not None and measured is not None and not headroom.unmeasured
    assert measured.mean_percent > 10  # the application tells tenths of a percent
    assert 100 * headroom.duty == pytest.approx(measured.mean_percent, rel=TOLERANCE)
    assert 100 * headroom.share(measured.lines, measured.samples) == pytest.approx(
        measured.worst_percent, rel=TOLERANCE
    )
    assert 100 * headroom.share() >= measured.worst_percent * (1 - TOLERANCE)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize(("size", "colors"), [(96, 1), (64, 3)])
def test_a_small_model_takes_the_predicted_time(size: int, colors: int, board: str, tmp_path: Path) -> None:
    model = classifier(size, colors=colors)
    prepared = picture_model(tmp_path / "eye.tflite", replace(DECISION, rate=6), model=model)
    application, playback = run(prepared, board, tmp_path)
    assert_predicted(application, playback)
    assert not problems({**application.to_json(), "playback": playback.to_json()})
    told = time_lines(application.headroom, playback.measured, "frame")
    assert "; a frame takes " in told[0] and told[1].startswith("Measured: a frame takes ")


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("optimise", ["balanced", "ram"])
@pytest.mark.parametrize("name", ["person_detect_int8", "vww01_int8"])
def test_person_detectors_take_the_predicted_time(
    name: str, optimise: str, board: str, tmp_path: Path
) -> None:
    path = SHARED / "models" / f"{name}.tflite"
    if not path.is_file():
        pytest.skip(f"{path} does not exist (set ARENITE_SHARED to the folder that has models/)")
    prepared = prepare(path)
    decision = Decision(threshold=0.6, release=0.4, smooth="mean", hops=2, rate=1)
    prepared = replace(prepared, extra={**prepared.extra, "decision": decision.to_json()})
    assert_predicted(*run(prepared, board, tmp_path, optimise))


def test_the_counts_of_a_camera_are_read() -> None:
    measured = parse_time(["Started", STATUS], (), 12)
    assert measured is not None
    assert (measured.mean_percent, measured.worst_percent, measured.samples) == (51.9, 52.1, 12)
    assert "first_percent" not in measured.to_json()
    assert parse_time(["Started"], (), 12) is None


def test_a_build_for_size_has_no_prediction_of_frames(tmp_path: Path) -> None:
    prepared = picture_model(tmp_path / "eye.tflite")
    board = load_board("qemu_mps2_an386")
    usual = generate_camera_app(prepared, board, tmp_path / "usual")
    assert usual.headroom is not None and usual.headroom.headroom > 0
    small = generate_camera_app(prepared, board, tmp_path / "small", optimise="flash")
    assert small.headroom is None and small.to_json()["headroom"] is None


def test_recorded_preprocessing_has_no_prediction(tmp_path: Path) -> None:
    prepared = picture_model(tmp_path / "eye.tflite", preprocessing=YUYV)
    assert generate_camera_app(prepared, load_board("qemu_mps2_an386"), tmp_path / "app").headroom is None
