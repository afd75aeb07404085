"""Tests of the comparison of results, and of the camera loop on aarch64. The latter runs on request only, because it
needs an emulator, a cross compiler and Debian's archive."""

from __future__ import annotations

import os

import numpy as np
import pytest

from tests.arm64.arm64_root import missing_tools
from tests.arm64.comparison import Check, Run, compare_feeds, compare_models, same_answer


class _RecordedRun(Run):
    """A run whose results are given instead of read from a file."""

    def __init__(self, record: dict, arrays: dict) -> None:
        self.record, self.arrays = record, arrays


def _run(machine: str = "aarch64", code: str = "neon", byte: int = 7, score: float = 0.9) -> Run:
    """Return a simulated run with one input tensor ("feed") and one model, whose outputs and answer have the given
    values."""
    box = {
        "kind": "boxes",
        "boxes": [{"box": [0.1, 0.2, 0.3, 0.4], "score": score, "index": 0, "label": "face"}],
    }
    arrays = {
        "feed/a": np.array([byte], np.uint8),
        "input/m": np.zeros((1, 4), np.uint8),
        "output/m/0": np.full((1, 2), byte, np.int8),
        "output/m/1": np.full((1, 2), score, np.float32),
    }
    record = {"machine": machine, "codes": {code: 1}, "answers/m": [box], "runtime/m": "litert-cpu"}
    return _RecordedRun(record, arrays)


def test_equal_runs_pass() -> None:
    arm, here = _run(), _run("x86_64", "numpy")
    assert [check.failed for check in (compare_feeds(arm, here), *compare_models(arm, here))] == [[], []]


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        (_run(machine="x86_64"), "machine"),
        (_run(code="c"), "vector code"),
        (_run(code="numpy"), "NumPy ran"),
        (_run(byte=8), "differs from NumPy"),
    ],
)
def test_feeds_that_differ_are_reported(arm: Run, message: str) -> None:
    check = compare_feeds(arm, _run("x86_64", "numpy"))
    assert any(message in sentence for sentence in check.failed)


def test_models_that_differ_are_reported() -> None:
    (check,) = compare_models(_run(byte=8, score=0.7), _run("x86_64", "numpy"))
    # Of the compared input, two outputs and answer, only the input is equal.
    assert len(check.failed) == 3 and check.to_json()["checked"] == 4


def test_answers_are_equal_within_the_tolerance() -> None:
    assert same_answer({"a": [1.0, "x"]}, {"a": [1.0001, "x"]})
    assert not same_answer({"a": [1.0]}, {"a": [1.1]})
    assert not same_answer({"a": []}, {"a": [1.0]})
    assert not same_answer({"a": 1}, {"a": 1.0})


def test_a_check_counts_its_conditions() -> None:
    check = Check("x")
    check.require(True, "a")
    check.require(False, "b")
    assert check.to_json() == {"name": "x", "checked": 2, "failed": ["b"]}


@pytest.mark.skipif(not os.environ.get("ARENITE_ARM64"), reason="set ARENITE_ARM64=1, or run make test-arm64")
def test_the_camera_loop_gives_equal_results_on_aarch64() -> None:
    if packages := missing_tools():
        pytest.skip(f"needs {', '.join(packages)}")
    from tests.arm64.__main__ import run_checks

    result = run_checks()
    assert result["passed"], [check["failed"] for check in result["checks"]]
