"""Tests of the loops that the camera benchmark compares: each loop answers the frames, and its times add up."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cv2", reason="needs opencv-python-headless")

from arenite.converters.importers import environments
from benchmarks.camera import cold_start, comparison, mediapipe
from benchmarks.camera.answer_agreement import FLOAT, Reference, compare_answers, to_rgb
from benchmarks.camera.baseline_loop import BaselineLoop
from benchmarks.camera.blazeface_reference import SIZE, decode, overlap, short_range
from benchmarks.camera.cases import Case, cases
from benchmarks.camera.pictures import pictures, ring


@pytest.fixture(scope="module")
def all_cases() -> dict[str, Case]:
    return {case.name: case for case in cases()}


def test_the_decoder_returns_the_best_box_of_each_face() -> None:
    anchors = short_range()
    assert anchors.shape == (896, 2) and np.allclose(anchors[0], 1 / 32) and np.allclose(anchors[-1], 15 / 16)
    raw, logits = np.zeros((896, 16), np.float32), np.full(896, -50.0, np.float32)
    # Two overlapping boxes (100, 101) for one face, and a box (800) for another face.
    for index, score in ((100, 3.0), (101, 2.0), (800, 1.0)):
        raw[index, 2:4], logits[index] = SIZE / 4, score
    faces = decode(raw, logits, anchors, 0.5)
    # The scores are the sigmoids of 3.0 and 1.0. The first box is that of anchor 100.
    assert [round(float(face[4]), 4) for face in faces] == [0.9526, 0.7311]
    assert np.allclose(faces[0][:2] + 1 / 8, anchors[100])
    assert overlap(faces[0], faces[0]) == pytest.approx(1.0) and overlap(faces[0], faces[1]) == 0.0
    assert decode(raw, logits, anchors, 0.99) == []


@pytest.mark.slow
def test_plain_opencv_code_finds_the_faces(all_cases: dict[str, Case]) -> None:
    naive, reference = BaselineLoop(all_cases["blazeface"]), Reference(all_cases["blazeface"])
    shown = pictures()[:3]
    for picture in shown:
        faces, expected = naive.run(picture.yuyv), reference.faces(picture, letterbox=False)
        assert expected is not None and overlap(faces[0], expected) > 0.7
        assert naive.invoke_ns > 0
    assert np.array_equal(naive.read(shown[0].yuyv)[..., ::-1], shown[0].rgb)


def test_the_time_of_a_frame_is_invoke_plus_overhead(all_cases: dict[str, Case]) -> None:
    result = comparison.compare_with_baseline(all_cases["vww"], comparison.FRAMES_PER_TURN)
    times = result.ours
    assert min(len(times.frame_ns), len(result.naive)) >= comparison.FRAMES_PER_TURN
    assert len(result.naive) == len(result.naive_invoke)
    assert {"capture", "preprocess", "invoke", "postprocess"} <= set(times.stages)
    for total, overhead, invoke in zip(
        times.frame_ns, times.overhead_ns(), times.stages["invoke"], strict=True
    ):
        assert total == overhead + invoke and overhead > 0
    for total, invoke in zip(result.naive, result.naive_invoke, strict=True):
        assert total > invoke


@pytest.mark.slow
def test_tensors_and_answers_equal_those_of_the_recorded_steps(all_cases: dict[str, Case]) -> None:
    agreement = compare_answers(all_cases["blazeface"])
    assert agreement.frames == len(pictures()) and agreement.skew == 0
    assert sum(agreement.same.values()) + len(agreement.differences) == 2 * agreement.frames
    assert agreement.same[FLOAT] == agreement.frames


def test_float_colors_are_close_to_integer_colors() -> None:
    picture = pictures()[0]
    assert np.abs(to_rgb(picture.yuyv) - picture.rgb).max() < 2.5


@pytest.mark.slow
def test_a_cold_start_has_an_answer(all_cases: dict[str, Case]) -> None:
    result = cold_start.measure_python(str(all_cases["blazeface"].path), 1)
    assert result.seconds > 0 and result.peak_mb > 5 and result.runs == 1


def test_mediapipe_answers_in_turns(all_cases: dict[str, Case]) -> None:
    if not (environments.directory(mediapipe.SPEC) / "complete.json").is_file():
        pytest.skip(
            "MediaPipe's environment does not exist: python -m benchmarks.camera mediapipe creates it"
        )
    with mediapipe.FaceDetector(all_cases["blazeface"].path) as peer:
        # MediaPipe's mode, the pixel format, and the number of processors (0: all).
        for variant in (("image", "rgb", 1), ("video", "yuyv", 0)):
            turn = peer.round(*variant, 12)
            assert len(turn.ns) <= 12 and all(elapsed > 0 for elapsed in turn.ns)
            assert [face is not None for face in turn.faces] == [picture.face for picture in ring()]
