"""The rule by which a runtime is taken."""

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

_ROW = st.builds(
    CandidateResult,
    name=st.sampled_from(["a", "b", "c"]),
    threads=st.integers(1, 4),
    median_ms=st.none() | st.floats(0.01, 100),
    energy_mj=st.none() | st.floats(0.01, 100),
    problem=st.sampled_from(["", "", "crashed (SIGSEGV)."]),
)


@given(st.lists(_ROW, max_size=8))
def test_never_a_broken_one_and_never_much_worse_than_the_best(rows: list[CandidateResult]) -> None:
    usable = [row for row in rows if not row.problem and row.median_ms is not None]
    picked = choose_candidate(rows)
    assert (picked is None) == (not usable)
    if picked is not None:
        row, reason = picked
        assert row in usable
        assert row.median_ms is not None
        assert row.label in reason
        assert row.median_ms <= min(each.median_ms or 0 for each in usable) / (1 - MIN_GAIN) + 1e-12


def test_a_small_gain_is_not_worth_it() -> None:
    one = CandidateResult("litert-cpu", 1, 1.0)
    assert choose_candidate([one, CandidateResult("litert-cpu", 2, 0.95)]) is not None
    row, reason = choose_candidate([one, CandidateResult("litert-cpu", 2, 0.95)]) or (None, "")
    assert row == one
    assert reason == "litert-cpu: no other candidate is 10 % better."
    row, reason = choose_candidate([one, CandidateResult("litert-gpu", 1, 0.5)]) or (None, "")
    assert row is not None
    assert row.name == "litert-gpu"
    assert reason == "litert-gpu: 0.500 ms, 2.00 times better than litert-cpu (1.000 ms)."
    assert choose_candidate([one]) == (one, "litert-cpu: the only candidate.")


def test_by_energy_the_frugal_one_wins() -> None:
    fast, frugal = (
        CandidateResult("litert-gpu", 1, 1.0, energy_mj=9.0),
        CandidateResult("litert-npu", 1, 2.0, energy_mj=3.0),
    )
    assert (choose_candidate([fast, frugal]) or [None])[0] == fast
    row, reason = choose_candidate([fast, frugal], "energy") or (None, "")
    assert row == frugal
    assert "mJ" in reason
    # Without a meter time decides.
    bare = [replace(fast, energy_mj=None), replace(frugal, energy_mj=None)]
    assert (choose_candidate(bare, "energy") or [None])[0] == bare[0]


def test_difference() -> None:
    reference = [np.array([0.0, 10.0]), np.array([[100, 90]], np.int8)]
    same = [each.copy() for each in reference]
    assert difference(same, reference) == 0
    assert difference([np.array([0.0, 10.5]), same[1]], reference) == pytest.approx(0.05)
    # Two steps of an int8 output that hardly varies are two of 64.
    assert difference([same[0], np.array([[102, 90]], np.int8)], reference) == pytest.approx(2 / 64)
    assert difference(same[:1], reference) == float("inf")
    assert difference([np.array([np.nan, 1.0]), same[1]], reference) == float("inf")
    assert difference([np.zeros((2, 1)), same[1]], reference) == float("inf")
    # 127 against -128 must not wrap around.
    far = difference([np.array([127], np.int8)], [np.array([-128], np.int8)])
    assert far == pytest.approx(255 / 64)


def test_there_and_back_through_json() -> None:
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
