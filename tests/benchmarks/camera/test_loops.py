"""Each contender answers the benchmark's frames, and its times add up."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cv2", reason="needs opencv-python-headless")

from arenite.converters.importers import environments
from benchmarks.camera import cold_start, comparison, mediapipe
from benchmarks.camera.answer_agreement import FLOAT, Reference, agreement, to_rgb
from benchmarks.camera.baseline_loop import BaselineLoop
from benchmarks.camera.blazeface_reference import SIZE, decode, overlap, short_range
from benchmarks.camera.cases import Case, cases
from benchmarks.camera.pictures import pictures, ring


@pytest.fixture(scope="module")
def chosen() -> dict[str, Case]:
    return {case.name: case for case in cases()}


def test_anchors_and_boxes() -> None:
    anchors = short_range()
    assert anchors.shape == (896, 2) and np.allclose(anchors[0], 1 / 32) and np.allclose(anchors[-1], 15 / 16)
    raw, logits = np.zeros((896, 16), np.float32), np.full(896, -50.0, np.float32)
    # Two boxes of one face, and another face elsewhere.
    for index, score in ((100, 3.0), (101, 2.0), (800, 1.0)):
        raw[index, 2:4], logits[index] = SIZE / 4, score
    faces = decode(raw, logits, anchors, 0.5)
    assert [round(float(face[4]), 4) for face in faces] == [0.9526, 0.7311]
    assert np.allclose(faces[0][:2] + 1 / 8, anchors[100])
    assert overlap(faces[0], faces[0]) == pytest.approx(1.0) and overlap(faces[0], faces[1]) == 0.0
    assert decode(raw, logits, anchors, 0.99) == []


@pytest.mark.slow
def test_what_a_user_writes_finds_the_faces(chosen: dict[str, Case]) -> None:
    naive, reference = BaselineLoop(chosen["blazeface"]), Reference(chosen["blazeface"])
    shown = pictures()[:3]
    for picture in shown:
        found, expected = naive.run(picture.yuyv), reference.faces(picture, letterbox=False)
        assert expected is not None and overlap(found[0], expected) > 0.7
        assert naive.invoke_ns > 0
    assert np.array_equal(naive.read(shown[0].yuyv)[..., ::-1], shown[0].rgb)


def test_a_frame_is_invoke_and_the_rest(chosen: dict[str, Case]) -> None:
    found = comparison.compare_with_baseline(chosen["vww"], comparison.FRAMES_PER_TURN)
    times = found.ours
    assert min(len(times.whole), len(found.naive)) >= comparison.FRAMES_PER_TURN
    assert len(found.naive) == len(found.naive_invoke)
    assert {"capture", "preprocess", "invoke", "postprocess"} <= set(times.stages)
    for whole, rest, invoke in zip(times.whole, times.besides_invoke(), times.stages["invoke"], strict=True):
        assert whole == rest + invoke and rest > 0
    for whole, invoke in zip(found.naive, found.naive_invoke, strict=True):
        assert whole > invoke


@pytest.mark.slow
def test_tensors_are_the_recorded_steps(chosen: dict[str, Case]) -> None:
    found = agreement(chosen["blazeface"])
    assert found.frames == len(pictures()) and found.skew == 0
    assert sum(found.same.values()) + len(found.unlike) == 2 * found.frames
    assert found.same[FLOAT] == found.frames


def test_float_colours_are_those_of_bytes() -> None:
    picture = pictures()[0]
    assert np.abs(to_rgb(picture.yuyv) - picture.rgb).max() < 2.5


@pytest.mark.slow
def test_a_cold_start_has_an_answer(chosen: dict[str, Case]) -> None:
    found = cold_start.shortest(str(chosen["blazeface"].path), 1)
    assert found.seconds > 0 and found.peak_mb > 5 and found.runs == 1


def test_mediapipe_answers_in_turns(chosen: dict[str, Case]) -> None:
    if not (environments.directory(mediapipe.SPEC) / "complete.json").is_file():
        pytest.skip("MediaPipe's environment is not made: python -m benchmarks.camera mediapipe makes it")
    with mediapipe.FaceDetector(chosen["blazeface"].path) as peer:
        for way in (("image", "rgb", 1), ("video", "yuyv", 0)):
            done = peer.round(*way, 12)
            assert len(done.ns) <= 12 and all(taken > 0 for taken in done.ns)
            assert [found is not None for found in done.found] == [picture.face for picture in ring()]
