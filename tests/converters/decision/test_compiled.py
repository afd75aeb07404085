"""The C code of decisions gives the events of the NumPy reference on random streams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.decision import compiled
from arenite.converters.decision.plan import UNSIGNED_FLIP, DecisionPlan, GatePlan
from arenite.converters.decision.reference import Decider, SampleGate, decide_all
from arenite.converters.processing.native import library as native
from tests.converters.decision.streams import decision_plans, gate_plans
from tests.example_count import example_count


def library() -> object:
    found = native.library()
    if found is None:
        pytest.skip(native.unavailable_reason())
    return found


def random_scores(plan: DecisionPlan, hops: int, seed: int) -> np.ndarray:
    """Return int8 scores [hops, classes]: slow waves with noise, so that thresholds are crossed at all speeds."""
    random = np.random.default_rng(seed)
    phase = np.cumsum(random.uniform(0, 0.6, (hops, plan.classes)), axis=0)
    waves = random.uniform(20, 160, plan.classes) * np.sin(phase) + random.normal(0, 20, (hops, plan.classes))
    return np.clip(np.round(waves), -128, 127).astype(np.int8)


@settings(max_examples=example_count(300), deadline=None)
@given(decision_plans(), st.integers(0, 80), st.integers(0, 2**32 - 1), st.sampled_from([0, 2**40, 2**62]))
def test_events_are_those_of_the_reference(plan: DecisionPlan, hops: int, seed: int, first: int) -> None:
    scores = random_scores(plan, hops, seed)
    random = np.random.default_rng(seed)
    at = (first + np.cumsum(random.integers(1, 400, hops))).astype(np.uint64)
    has_scores = random.random(hops) < 0.8
    expected = decide_all(plan, scores, at.tolist(), has_scores.tolist())
    many = compiled.CompiledDecider(library(), plan)  # type: ignore[arg-type]
    assert many.decide_all(scores, at, has_scores) == expected
    many.reset()
    assert many.decide_all(scores, at, has_scores) == expected
    one_by_one = compiled.CompiledDecider(library(), plan)  # type: ignore[arg-type]
    reference = Decider(plan)
    for row, end, is_present in zip(scores, at.tolist(), has_scores, strict=True):
        given_scores = row if is_present else None
        assert one_by_one.decide(given_scores, end) == reference.decide(given_scores, end)
        assert one_by_one.is_active == reference.is_active


@settings(max_examples=example_count(100), deadline=None)
@given(decision_plans(), st.integers(0, 2**32 - 1))
def test_uint8_scores_give_the_events_of_int8_scores(plan: DecisionPlan, seed: int) -> None:
    scores = random_scores(plan, 60, seed)
    at = np.arange(60, dtype=np.uint64)
    expected = decide_all(plan, scores, at.tolist())
    stored = (scores.astype(np.int16) + 128).astype(np.uint8)
    unsigned = replace(plan, flip=UNSIGNED_FLIP)
    assert decide_all(unsigned, stored, at.tolist()) == expected
    decider = compiled.CompiledDecider(library(), unsigned)  # type: ignore[arg-type]
    assert decider.decide_all(stored, at, np.ones(60, np.uint8)) == expected


def test_a_long_stream_is_cut_into_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = DecisionPlan(0, (0, 10), (0, 10), 1, 0, 1, 0, False)
    scores = random_scores(plan, 3000, 1)
    at = np.arange(3000, dtype=np.uint64)
    expected = decide_all(plan, scores, at.tolist())
    monkeypatch.setattr(compiled, "_ROOM", 100)
    assert len(expected) > 500 and compiled.events_of(plan, scores, at) == expected


def test_without_a_library_the_reference_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = DecisionPlan(0, (0, 10), (0, 10), 1, 0, 1, 0, True)
    scores = random_scores(plan, 200, 2)
    expected = decide_all(plan, scores, range(200))
    monkeypatch.setattr(native, "library", lambda: None)
    assert expected and compiled.events_of(plan, scores, range(200)) == expected


@settings(max_examples=example_count(200), deadline=None)
@given(gate_plans(), st.integers(0, 2**32 - 1), st.lists(st.integers(0, 33000), max_size=20))
def test_gates_open_as_in_the_reference(plan: GatePlan, seed: int, levels: list[int]) -> None:
    random = np.random.default_rng(seed)
    reference, gate = SampleGate(plan), compiled.CompiledGate(library(), plan)  # type: ignore[arg-type]
    for level in levels:
        noise = random.uniform(-level, level + 1, (plan.block, plan.channels)) + random.integers(-5000, 5000)
        block = np.clip(noise, -32768, 32767).astype(np.int16)
        assert gate.measure(block) == reference.measure(block)
    for is_active in random.random(20) < 0.3:
        assert gate.hold(bool(is_active)) == reference.hold(bool(is_active))


@pytest.mark.parametrize("value", [-32768, 32767])
def test_the_largest_block_does_not_overflow(value: int) -> None:
    block = np.full((16384, 16), value, np.int16)
    block[::2] = -1 - value
    variance = 16 * ((2 * value + 1) ** 2) // 4
    for limit, is_open in ((variance, True), (variance + 1, False)):
        plan = GatePlan(limit, limit, 0, 16, 16384)
        assert compiled.CompiledGate(library(), plan).measure(block) is is_open  # type: ignore[arg-type]
        assert SampleGate(plan).measure(block) is is_open
