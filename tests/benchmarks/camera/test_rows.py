"""Tests of the rows of the camera benchmark's table, and of the sections of docs/camera-performance.md with its
tables."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("cv2", reason="needs opencv-python-headless")

from arenite.host.report.generated_tables import DOCS, replace_section
from benchmarks.camera.__main__ import GROUPS, main, sections
from benchmarks.camera.answer_agreement import FLOAT, PILLOW, AnswerAgreement
from benchmarks.camera.arenite_loop import LoopTimes
from benchmarks.camera.cases import Case
from benchmarks.camera.cold_start import ColdStart
from benchmarks.camera.comparison import LoopComparison, PeerComparison
from benchmarks.camera.frame_jitter import FrameJitter
from benchmarks.camera.rows import (
    answer_rows,
    cold_row,
    memory_row,
    naive_rows,
    peer_rows,
    recorded_row,
    stage_text,
    steady_row,
)

CASE = Case("x", "a model", Path("x.tflite"), "classes", 0.35, 6.0)


def _times(invoke_us: int, rest_us: int) -> LoopTimes:
    """Return the times of three frames: inference, and the rest of the frame, half of which is preprocessing."""
    times = LoopTimes()
    for _ in range(3):
        times.frame_ns.append((invoke_us + rest_us) * 1000)
        times.stages.setdefault("invoke", []).append(invoke_us * 1000)
        times.stages.setdefault("preprocess", []).append(rest_us * 500)
    return times


def _comparison(rest_us: int, naive_us: int) -> LoopComparison:
    """Return a comparison of frames of 100 + ``rest_us`` with frames of ``naive_us`` of plain OpenCV code. Both have an
    inference of 100 µs."""
    return LoopComparison(CASE, _times(100, rest_us), [naive_us * 1000] * 3, [100_000] * 3, "r")


def test_rows_compared_with_plain_opencv_code() -> None:
    assert [row.met for row in naive_rows(_comparison(20, 800))] == [True, None]
    assert [row.met for row in naive_rows(_comparison(36, 500))] == [False, None]
    assert recorded_row(_comparison(20, 800)).met and not recorded_row(_comparison(36, 500)).met
    share, speed = naive_rows(_comparison(20, 800))
    assert "0.200 × invoke (20 of 100 µs)" in share.measured
    assert "6.67 × (0.80 against 0.12 ms; invoke alone would be 8.00 ×)" in speed.measured
    memory = memory_row(_comparison(20, 800))
    assert memory.met is None and memory.measured.startswith("0.200 × invoke")
    assert stage_text(_comparison(20, 800)) == "invoke 0.100, preprocess 0.010, the rest 0.010"


@pytest.mark.parametrize(("best_us", "met"), [(180, True), (170, False)])
def test_the_faster_mode_of_mediapipe_counts(best_us: int, met: bool) -> None:
    # Nanoseconds per frame by mode, pixel format and number of processors (0: all).
    peer = {
        ("image", "rgb", 1): [200_000], ("video", "rgb", 1): [best_us * 1000], ("image", "rgb", 0): [150_000],
        ("video", "rgb", 0): [160_000], ("image", "yuyv", 1): [300_000], ("video", "yuyv", 1): [310_000],
    }  # fmt: skip
    rgb, yuyv, all_processors = peer_rows(PeerComparison(_times(100, 20), "1", peer, []))
    assert rgb.met is met and "video mode" in rgb.measured
    assert yuyv.met is None and yuyv.measured.startswith("2.50 ×") and "image mode" in yuyv.measured
    assert all_processors.met is None and all_processors.measured.startswith("1.25 ×")
    assert "would be 1.50 ×" in all_processors.measured


def test_rows_of_jitter_cold_start_and_answers() -> None:
    assert (
        steady_row(FrameJitter(None, 300, 1.0, 1.5)).met
        and not steady_row(FrameJitter(30.0, 300, 1.0, 1.6)).met
    )
    assert cold_row("x", ColdStart(0.25, 60.0, 5)).met
    assert not cold_row("x", ColdStart(0.26, 50.0, 5)).met and not cold_row("x", ColdStart(0.2, 61.0, 5)).met
    assert [row.met for row in answer_rows("x", AnswerAgreement(12, {FLOAT: 12, PILLOW: 9}, (), 0))] == [
        True,
        None,
        True,
    ]
    agreement = AnswerAgreement(12, {FLOAT: 11, PILLOW: 11}, ("a",), 1)
    assert [row.met for row in answer_rows("x", agreement)] == [False, None, False]


def test_camera_performance_md_has_a_section_for_every_table() -> None:
    rows = [row.to_json() for row in naive_rows(_comparison(36, 500))]
    stage = {
        "model": "m", "runtime": "r", "ms": {"invoke": 1.0, "whole": 1.5}, "naive_ms": {"invoke": 1.0, "whole": 3.0},
        "frames": {"ours": 300, "naive": 301},
    }  # fmt: skip
    machine = {
        "processor": "P", "cores": 2, "system": "Linux", "python": "3.11", "load_before": 0.1,
        "packages": {"numpy": "2"},
    }  # fmt: skip
    tables = sections({"rows": rows, "stages": [stage], "machine": machine})
    page = (DOCS / "camera-performance.md").read_text("utf-8")
    for name, content in tables.items():
        assert content in replace_section(page, name, content)
    assert "**missed**" in tables["targets"] and "| 300 |" in tables["stages"]
    for table in (tables["targets"], tables["stages"]):
        assert len({line.count("|") for line in table.splitlines()}) == 1


@pytest.mark.parametrize(
    "arguments", [["speed"], ["--frames", "0"], ["--docs", "naive"], ["--docs", "--frames", "30"]]
)
def test_invalid_arguments_print_an_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2 and "Traceback" not in capsys.readouterr().err


def test_groups_are_in_the_order_of_the_table() -> None:
    groups = [row.group for row in naive_rows(_comparison(20, 800))]
    assert all(group in GROUPS for group in groups)
