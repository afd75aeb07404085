"""Tests of ``ServedFrame``, the record of a frame that the camera loop answered."""

from __future__ import annotations

from arenite.host.camera.frames.served_frame import ServedFrame


def test_total_time_and_age_are_computed_from_the_stages() -> None:
    spans = {"capture": (1_000, 3_000), "preprocess": (3_500, 5_000), "invoke": (5_000, 9_000)}
    served = ServedFrame(0, 0, 0, 400, spans, None)  # captured at 400 ns
    assert served.total_ns == 8_000
    assert served.age_ns == 8_600
    assert served.to_json()["stage_ms"] == {"capture": 0.002, "preprocess": 0.0015, "invoke": 0.004}


def test_a_frame_without_stages_has_no_times() -> None:
    served = ServedFrame(0, 0, 0, 400, {}, None, by="stand-in")
    assert (served.total_ns, served.age_ns) == (0, 0)
