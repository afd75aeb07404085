"""An application with a camera on an emulated board has the scores and events of whole frames, and lives through faults
of its camera."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.decision.record import Decision
from arenite.host.app.camera.frames import frame_of, read_frames
from arenite.host.app.camera.generate import CameraApp, generate_camera_app
from arenite.host.app.camera.play import parse_frame_event, play_frames
from arenite.host.app.sensor_file import LATE, LOST, STUCK, UNPLUGGED, Fault
from arenite.host.build.prepare import prepare
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import load_board
from tests.development_models import shared_model
from tests.host.app.camera.camera_models import (
    DECISION,
    SIZE,
    YUYV,
    picture_model,
    pictures,
    whole_input_model,
)
from tests.host.app.camera.elf_ram import ram_of

pytestmark = [pytest.mark.slow, pytest.mark.qemu]
BOARD = load_board("qemu_mps2_an386")


def frames_of(application: CameraApp, count: int) -> list[np.ndarray]:
    """Return frames of the application's camera."""
    return [frame_of(picture, application.pictures.plan) for picture in pictures(count)]


@pytest.mark.parametrize("board", ["qemu_mps2_an385", "qemu_mps2_an386", "qemu_mps2_an500"])
def test_scores_and_events_are_those_of_whole_frames(board: str, tmp_path: Path) -> None:
    application = generate_camera_app(
        picture_model(tmp_path / "eye.tflite"), load_board(board), tmp_path / "app"
    )
    playback = play_frames(application, frames_of(application, 40))
    assert application.held_bytes == 0
    assert playback.is_complete and playback.is_equal and playback.answered == 40
    assert len(playback.events) > 4


def test_rows_of_another_size_and_format_are_converted_as_they_arrive(tmp_path: Path) -> None:
    prepared = picture_model(tmp_path / "eye.tflite", replace(DECISION, hop=2), YUYV)
    application = generate_camera_app(prepared, BOARD, tmp_path / "app")
    assert (application.held_bytes, application.settings.row_bytes) == (0, 80)
    playback = play_frames(application, frames_of(application, 30))
    assert playback.is_complete and playback.is_equal and playback.answered == 15


def test_a_model_that_needs_a_whole_picture_holds_it(tmp_path: Path) -> None:
    prepared = picture_model(tmp_path / "eye.tflite", model=whole_input_model())
    application = generate_camera_app(prepared, BOARD, tmp_path / "app")
    assert application.held_bytes == SIZE * SIZE * 3
    playback = play_frames(application, frames_of(application, 30))
    assert playback.is_complete and playback.is_equal and playback.events


def test_faults_of_the_camera_are_told_and_the_application_lives_on(tmp_path: Path) -> None:
    application = generate_camera_app(picture_model(tmp_path / "eye.tflite"), BOARD, tmp_path / "app")
    faults = [
        Fault(LOST, 5 * SIZE + 3, 1),
        Fault(LOST, 10 * SIZE, 2 * SIZE),
        Fault(LATE, 15 * SIZE, SIZE),
        Fault(UNPLUGGED, 20 * SIZE, 30 * SIZE),
    ]
    playback = play_frames(application, frames_of(application, 40), faults)
    notes = [re.sub(r"^\[.*?\] ", "", line) for line in playback.lines if parse_frame_event(line) is None]
    room = application.settings.room
    assert notes[:-1] == [
        "Started; microseconds per frame: 100000",
        "5: frame dropped, because row 3 was lost",
        "2 frames are missing",
        f"15: frame dropped, because row {room} was lost",
        "No rows arrive.",
        "Rows arrive again.",
    ]
    assert notes[-1].startswith(
        "40 frames, 36 answered, 2 dropped, 2 missing, 0 late, 0 times stuck, 1 times silent, 0 lines dropped"
    )
    assert playback.answered == 36 and playback.is_equal and not playback.is_complete


def test_a_picture_that_does_not_change_is_told(tmp_path: Path) -> None:
    application = generate_camera_app(picture_model(tmp_path / "eye.tflite"), BOARD, tmp_path / "app")
    frames = frames_of(application, 30)
    playback = play_frames(application, frames, [Fault(STUCK, 5 * SIZE, 20 * SIZE)])
    assert sum(line == "The picture does not change." for line in playback.lines) == 1
    assert playback.answered == 30 and playback.equal < 30
    stuck = [frames[4] if 5 <= k < 25 else frame for k, frame in enumerate(frames)]
    same = play_frames(application, stuck)
    assert same.is_equal and same.lines == playback.lines


def test_two_runs_print_the_same_lines(tmp_path: Path) -> None:
    application = generate_camera_app(picture_model(tmp_path / "eye.tflite"), BOARD, tmp_path / "app")
    frames = frames_of(application, 10)
    assert play_frames(application, frames).lines == play_frames(application, frames).lines


def test_the_person_detector_needs_17_kilobytes(tmp_path: Path) -> None:
    prepared = prepare(shared_model("person_detect_int8"))
    extra = {**prepared.extra, "decision": Decision(threshold=0.6, rate=1).to_json()}
    application = generate_camera_app(replace(prepared, extra=extra), BOARD, tmp_path / "app", optimise="ram")
    playback = play_frames(application, frames_of(application, 3))
    assert playback.is_complete and playback.is_equal
    ram = ram_of(direct_build(application.directory))
    assert ram <= 17_000
    used, reserved = map(int, re.findall(r"stack (\d+) of (\d+) bytes", playback.lines[-1])[0])
    assert 0 < used < reserved


def test_pictures_come_from_files(tmp_path: Path) -> None:
    from PIL import Image

    application = generate_camera_app(picture_model(tmp_path / "eye.tflite"), BOARD, tmp_path / "app")
    (tmp_path / "pictures").mkdir()
    for k, picture in enumerate(pictures(3, SIZE)):
        Image.fromarray(picture).save(tmp_path / "pictures" / f"{k}.png")
    plan = application.pictures.plan
    frames = read_frames([tmp_path / "pictures"], plan)
    assert [f.tolist() for f in frames] == [frame_of(p, plan).tolist() for p in pictures(3, SIZE)]
    assert play_frames(application, frames).is_equal
