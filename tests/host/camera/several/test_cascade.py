"""Tests of ``Cascade``: which models run on a frame, and which answer is the result."""

from __future__ import annotations

import pytest

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import CropWindow, Frame
from arenite.host.camera.several.cascade import Cascade, CascadeStage
from arenite.host.camera.several.cascade_rules import LabelRule, LowConfidenceRule
from tests.development_models import shared_model
from tests.host.camera.frames.photo_frames import frame_of, photograph
from tests.host.camera.serving.real_servers import server_of


def face() -> Frame:
    """Return a frame with a face, from the portrait of an astronaut."""
    return frame_of(photograph(0))


def no_face() -> Frame:
    """Return a frame without a face."""
    return frame_of(photograph(1))


def test_the_second_model_runs_only_after_a_detection() -> None:
    cascade = Cascade(
        [
            CascadeStage(server_of("blazeface"), LabelRule((("face", 0.6),))),
            CascadeStage(server_of("efficientnet_lite0")),
        ]
    )
    without_face, with_face = cascade.serve(no_face()), cascade.serve(face())
    assert without_face.answer is not None and with_face.answer is not None
    assert (without_face.model, without_face.answer.kind) == ("face_detection_short_range", "boxes")
    assert "cascade" not in without_face.extra
    assert set(without_face.spans) == {"preprocess", "invoke", "postprocess"}
    assert (with_face.model, with_face.answer.kind) == ("efficientnet_lite0", "classes")
    assert set(with_face.spans) == set(without_face.spans) | {
        f"{stage}:efficientnet_lite0" for stage in ("preprocess", "invoke", "postprocess")
    }
    assert [row["model"] for row in with_face.extra["cascade"]] == [
        "face_detection_short_range",
        "efficientnet_lite0",
    ]
    assert with_face.total_ns >= sum(end - begin for begin, end in with_face.spans.values())
    assert cascade.to_json() == [
        {"model": "face_detection_short_range", "asked": 2, "share": 1.0, "changed": 0},
        {"model": "efficientnet_lite0", "asked": 1, "share": 0.5, "changed": 1},
    ]
    cascade.close()


def test_a_stage_answers_like_its_model_alone() -> None:
    alone = server_of("efficientnet_lite0")
    cascade = Cascade(
        [
            CascadeStage(server_of("blazeface"), LabelRule((("face", 0.6),))),
            CascadeStage(server_of("efficientnet_lite0")),
        ]
    )
    assert cascade.serve(face()).answer == alone.serve(face()).answer
    assert cascade.bytes_written > alone.bytes_written
    cascade.close()
    alone.close()


def test_a_cropped_stage_detects_the_same_face() -> None:
    """The second stage gets only the region around the face. The box that it finds must be at most 20 % of the face's
    size away from the box that the same model finds in the whole frame, and its points at most 15 %."""
    alone = server_of("blazeface")
    uncropped = alone.serve(face()).answer
    assert uncropped is not None
    expected_box = uncropped.boxes[0]
    rule = LabelRule((("face", 0.5),), crop_factor=2.0)
    cascade = Cascade([CascadeStage(server_of("blazeface"), rule), CascadeStage(alone)])
    cropped = cascade.serve(face()).answer
    assert cropped is not None
    box = cropped.boxes[0]
    width, height = expected_box.right - expected_box.left, expected_box.bottom - expected_box.top
    for side in ("left", "right"):
        assert getattr(box, side) == pytest.approx(getattr(expected_box, side), abs=0.2 * width)
    for side in ("top", "bottom"):
        assert getattr(box, side) == pytest.approx(getattr(expected_box, side), abs=0.2 * height)
    for (x, y), (u, v) in zip(box.points, expected_box.points, strict=True):
        assert (x, y) == (pytest.approx(u, abs=0.15 * width), pytest.approx(v, abs=0.15 * height))
    cascade.close()


def test_a_low_confidence_runs_the_float_model() -> None:
    int8_model, float_model = shared_model("vww01_int8"), shared_model("vww01_float32")
    int8_server, float_server = server_of(int8_model), server_of(float_model)
    frames = [frame_of(photograph(index)) for index in range(4)]
    confidences = sorted(int8_server.serve(frame).answer.confidence for frame in frames)  # type: ignore[union-attr]
    min_confidence = (confidences[1] + confidences[2]) / 2
    assert confidences[1] < min_confidence < confidences[2], "this test needs different confidences"
    cascade = Cascade(
        [CascadeStage(int8_server, LowConfidenceRule(min_confidence)), CascadeStage(float_server)]
    )
    answers = [cascade.serve(frame) for frame in frames]
    assert [served_frame.model for served_frame in answers].count(float_server.name) == 2
    for frame, served_frame in zip(frames, answers, strict=True):
        assert (
            served_frame.answer
            == (float_server if served_frame.model == float_server.name else int8_server).serve(frame).answer
        )
    stages_json = cascade.to_json()
    assert stages_json[1]["share"] == 0.5
    assert stages_json[1]["changed"] <= 2
    cascade.close()


def test_a_cascade_of_three_ends_at_the_first_rule_that_fails() -> None:
    stages = [
        # An empty label stands for any label, and nearly any score is high enough, so the second model always runs.
        CascadeStage(server_of("visual_wake_words"), LabelRule((("", 0.01),))),
        CascadeStage(server_of("blazeface"), LabelRule((("face", 0.6),), 1.5)),
        CascadeStage(server_of("efficientnet_lite0")),
    ]
    cascade = Cascade(stages)
    assert cascade.serve(no_face()).model == "face_detection_short_range"
    assert cascade.serve(face()).model == "efficientnet_lite0"
    assert [stage.runs for stage in stages] == [2, 2, 1]
    assert cascade.name == "visual_wake_words -> face_detection_short_range -> efficientnet_lite0"
    cascade.close()


def test_an_impossible_rule_raises_an_error() -> None:
    first, second = server_of("blazeface"), server_of("efficientnet_lite0")
    with pytest.raises(UsageError, match="never answers 'person'"):
        Cascade([CascadeStage(first, LabelRule((("person", 0.5),))), CascadeStage(second)])
    with pytest.raises(UsageError, match="at least two"):
        Cascade([CascadeStage(first)])
    with pytest.raises(UsageError, match="a rule for each"):
        Cascade([CascadeStage(first), CascadeStage(second)])
    first.close()
    second.close()


def test_stages_without_a_crop_see_the_window() -> None:
    """If the first rule has no crop, the second model runs on the same part of the frame, ``window``, as the first."""
    alone, frame = server_of("blazeface"), face()
    side = frame.format.height // 2 * 2
    window = CropWindow((frame.format.width - side) // 2, 0, side, side)
    answer = alone.serve(frame, 0, window).answer
    assert answer is not None and answer.boxes and answer != alone.serve(frame).answer
    cascade = Cascade(
        [
            CascadeStage(server_of("blazeface"), LabelRule((("face", 0.6),))),
            CascadeStage(server_of("blazeface")),
        ]
    )
    assert cascade.serve(frame, 0, window).answer == answer
