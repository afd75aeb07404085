"""Tests of the rule that chooses a runtime from measurements of time, energy and outputs."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.host.camera.runtimes.runtime_choice import (
    MIN_GAIN,
    CandidateResult,
    RuntimeChoice,
    choose_candidate,
    difference,
)

#: Measurements of any candidate.
_ROW = st.builds(
    CandidateResult,
    name=st.sampled_from(["a", "b", "c"]),
    threads=st.integers(1, 4),
    median_ms=st.none() | st.floats(0.01, 100),
    energy_mj=st.none() | st.floats(0.01, 100),
    problem=st.sampled_from(["", "", "crashed (SIGSEGV)."]),
)


@given(st.lists(_ROW, max_size=8))
def test_the_choice_works_and_is_close_to_the_best(rows: list[CandidateResult]) -> None:
    usable = [row for row in rows if not row.problem and row.median_ms is not None]
    choice = choose_candidate(rows)
    assert (choice is None) == (not usable)
    if choice is not None:
        row, reason = choice
        assert row in usable
        assert row.median_ms is not None
        assert row.label in reason
        assert row.median_ms <= min(candidate.median_ms or 0 for candidate in usable) / (1 - MIN_GAIN) + 1e-12


def test_a_small_gain_does_not_change_the_choice() -> None:
    baseline = CandidateResult("litert-cpu", 1, 1.0)
    assert choose_candidate([baseline, CandidateResult("litert-cpu", 2, 0.95)]) is not None
    row, reason = choose_candidate([baseline, CandidateResult("litert-cpu", 2, 0.95)]) or (None, "")
    assert row == baseline
    assert reason == "litert-cpu: no other candidate is 10 % better."
    row, reason = choose_candidate([baseline, CandidateResult("litert-gpu", 1, 0.5)]) or (None, "")
    assert row is not None
    assert row.name == "litert-gpu"
    assert reason == "litert-gpu: 0.500 ms, 2.00 times better than litert-cpu (1.000 ms)."
    assert choose_candidate([baseline]) == (baseline, "litert-cpu: the only candidate.")


def test_the_candidate_with_the_least_energy_can_be_chosen() -> None:
    fast, frugal = (
        CandidateResult("litert-gpu", 1, 1.0, energy_mj=9.0),
        CandidateResult("litert-npu", 1, 2.0, energy_mj=3.0),
    )
    assert (choose_candidate([fast, frugal]) or [None])[0] == fast
    row, reason = choose_candidate([fast, frugal], "energy") or (None, "")
    assert row == frugal
    assert "mJ" in reason
    # Without energy figures, the time decides.
    without_energy = [replace(fast, energy_mj=None), replace(frugal, energy_mj=None)]
    assert (choose_candidate(without_energy, "energy") or [None])[0] == without_energy[0]


def test_the_difference_of_outputs_is_relative_to_their_range() -> None:
    reference = [np.array([0.0, 10.0]), np.array([[100, 90]], np.int8)]
    equal_outputs = [array.copy() for array in reference]
    assert difference(equal_outputs, reference) == 0
    assert difference([np.array([0.0, 10.5]), equal_outputs[1]], reference) == pytest.approx(0.05)
    # If an int8 output has a range below 64 steps, the difference is relative to 64 steps.
    assert difference([equal_outputs[0], np.array([[102, 90]], np.int8)], reference) == pytest.approx(2 / 64)
    assert difference(equal_outputs[:1], reference) == float("inf")
    assert difference([np.array([np.nan, 1.0]), equal_outputs[1]], reference) == float("inf")
    assert difference([np.zeros((2, 1)), equal_outputs[1]], reference) == float("inf")
    # 127 against -128 must not wrap around.
    overflow_difference = difference([np.array([127], np.int8)], [np.array([-128], np.int8)])
    assert overflow_difference == pytest.approx(255 / 64)


def test_a_choice_is_restored_from_json() -> None:
    rows = (
        CandidateResult("litert-cpu", 1, 1.0, 1.1, None, 5, 0.0, "", ("a note",)),
        CandidateResult("x", 2, problem="hung."),
    )
    choice = RuntimeChoice("litert-cpu", 1, rows, "because")
    assert RuntimeChoice.from_json(json.loads(json.dumps(choice.to_json()))) == choice
    assert choice.rows() == [
        ("litert-cpu", "1.000", "-", "chosen; a note"),
        ("x, 2 threads", "-", "-", "hung."),
    ]
