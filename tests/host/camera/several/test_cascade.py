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
    """An astronaut's portrait, framed as a camera would see it."""
    return frame_of(photograph(0))


def no_face() -> Frame:
    return frame_of(photograph(1))


def test_the_costly_model_looks_only_where_the_cheap_one_saw_something() -> None:
    cascade = Cascade(
        [
            CascadeStage(server_of("blazeface"), LabelRule((("face", 0.6),))),
            CascadeStage(server_of("efficientnet_lite0")),
        ]
    )
    without, seen = cascade.serve(no_face()), cascade.serve(face())
    assert without.answer is not None and seen.answer is not None
    assert (without.model, without.answer.kind) == ("face_detection_short_range", "boxes")
    assert "cascade" not in without.extra
    assert set(without.spans) == {"preprocess", "invoke", "postprocess"}
    assert (seen.model, seen.answer.kind) == ("efficientnet_lite0", "classes")
    assert set(seen.spans) == set(without.spans) | {
        f"{stage}:efficientnet_lite0" for stage in ("preprocess", "invoke", "postprocess")
    }
    assert [said["model"] for said in seen.extra["cascade"]] == [
        "face_detection_short_range",
        "efficientnet_lite0",
    ]
    assert seen.total_ns >= sum(end - begin for begin, end in seen.spans.values())
    assert cascade.to_json() == [
        {"model": "face_detection_short_range", "asked": 2, "share": 1.0, "changed": 0},
        {"model": "efficientnet_lite0", "asked": 1, "share": 0.5, "changed": 1},
    ]
    cascade.close()


def test_the_answer_is_that_of_the_model_alone() -> None:
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


def test_a_crop_finds_the_same_face_and_places_it_in_the_frame() -> None:
    """The second look sees only the region around the face; its box lies where the first one's does."""
    alone = server_of("blazeface")
    whole = alone.serve(face()).answer
    assert whole is not None
    first = whole.boxes[0]
    rule = LabelRule((("face", 0.5),), margin=2.0)
    cascade = Cascade([CascadeStage(server_of("blazeface"), rule), CascadeStage(alone)])
    found = cascade.serve(face()).answer
    assert found is not None
    second = found.boxes[0]
    across, down = first.right - first.left, first.bottom - first.top
    for side in ("left", "right"):
        assert getattr(second, side) == pytest.approx(getattr(first, side), abs=0.2 * across)
    for side in ("top", "bottom"):
        assert getattr(second, side) == pytest.approx(getattr(first, side), abs=0.2 * down)
    for (x, y), (u, v) in zip(second.points, first.points, strict=True):
        assert (x, y) == (pytest.approx(u, abs=0.15 * across), pytest.approx(v, abs=0.15 * down))
    cascade.close()


def test_an_unsure_quantised_model_asks_its_float_twin() -> None:
    quick, precise = shared_model("vww01_int8"), shared_model("vww01_float32")
    sure, twin = server_of(quick), server_of(precise)
    frames = [frame_of(photograph(which)) for which in range(4)]
    confidences = sorted(sure.serve(frame).answer.confidence for frame in frames)  # type: ignore[union-attr]
    below = (confidences[1] + confidences[2]) / 2
    assert confidences[1] < below < confidences[2], "the test needs answers of different confidence"
    cascade = Cascade([CascadeStage(sure, LowConfidenceRule(below)), CascadeStage(twin)])
    answers = [cascade.serve(frame) for frame in frames]
    assert [each.model for each in answers].count(twin.name) == 2
    for frame, each in zip(frames, answers, strict=True):
        assert each.answer == (twin if each.model == twin.name else sure).serve(frame).answer
    described = cascade.to_json()
    assert described[1]["share"] == 0.5
    assert described[1]["changed"] <= 2
    cascade.close()


def test_three_in_a_row_end_at_the_first_that_says_no() -> None:
    stages = [
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


def test_a_rule_that_can_never_hold_is_refused() -> None:
    first, second = server_of("blazeface"), server_of("efficientnet_lite0")
    with pytest.raises(UsageError, match="never answers 'person'"):
        Cascade([CascadeStage(first, LabelRule((("person", 0.5),))), CascadeStage(second)])
    with pytest.raises(UsageError, match="at least two"):
        Cascade([CascadeStage(first)])
    with pytest.raises(UsageError, match="a rule for each"):
        Cascade([CascadeStage(first), CascadeStage(second)])
    first.close()
    second.close()


def test_the_window_is_what_every_stage_without_a_crop_sees() -> None:
    alone, frame = server_of("blazeface"), face()
    side = frame.format.height // 2 * 2
    window = CropWindow((frame.format.width - side) // 2, 0, side, side)
    seen = alone.serve(frame, 0, window).answer
    assert seen is not None and seen.boxes and seen != alone.serve(frame).answer
    cascade = Cascade(
        [
            CascadeStage(server_of("blazeface"), LabelRule((("face", 0.6),))),
            CascadeStage(server_of("blazeface")),
        ]
    )
    assert cascade.serve(frame, 0, window).answer == seen
