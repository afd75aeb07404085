"""The NumPy reference of decisions: worked examples, and properties that follow from the record's definition."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.decision.plan import DecisionPlan, plan_decision, plan_gate
from arenite.converters.decision.record import Decision, Gate
from arenite.converters.decision.reference import Event, EventKind, SampleGate, decide_all
from tests.converters.decision.streams import decision_plans, plan_of, score_tensor
from tests.example_count import example_count

START, END = EventKind.START, EventKind.END


def events(plan: DecisionPlan, *columns: list[int], hop: int = 100) -> list[Event]:
    """Return the events of scores that are given per class. Hop k ends at sample ``hop * k``."""
    scores = np.array(columns, np.int8).T
    return decide_all(plan, scores, [hop * k for k in range(len(scores))])


def test_an_event_starts_at_the_threshold_and_ends_below_the_release() -> None:
    plan = plan_of(1, threshold=0.75, release=0.5)  # stored: 64 and 0
    found = events(plan, [-128, 63, 64, 127, 0, -1, 64])
    assert found == [Event(200, 0, 64, START), Event(500, 0, -1, END), Event(600, 0, 64, START)]


def test_a_mean_counts_hops_before_the_first_as_the_lowest_score() -> None:
    plan = plan_of(1, threshold=0.5, smooth="mean", hops=4)  # the sum of four scores must reach 0
    found = events(plan, [127, 127, 127, 127, -128, -128, -128])
    # After two hops the sum is 127 + 127 - 128 - 128 = -2; after three it is 253.
    # The mean of the event's end is -0.5, which is rounded up.
    assert found == [Event(200, 0, 63, START), Event(500, 0, 0, END)]


def test_an_exponential_average_of_one_half() -> None:
    plan = plan_of(1, threshold=0.7, smooth="exponential", factor=0.5)  # 51.2, so the average must reach 51.2
    # The averages are -0.5, 63.25, -32.375.
    found = events(plan, [127, 127, -128])
    assert found == [Event(100, 0, 63, START), Event(200, 0, -32, END)]


def test_thresholds_of_uint8_scores_are_those_of_int8_scores() -> None:
    decision = Decision(threshold=0.75, release=0.5)
    signed = plan_decision(decision, [score_tensor(2)])
    unsigned = plan_decision(decision, [score_tensor(2, zero=0, dtype="uint8")])
    assert (unsigned.on, unsigned.off, unsigned.flip) == (signed.on, signed.off, 0x80)


def test_the_minimum_counts_consecutive_hops() -> None:
    plan = plan_of(1, threshold=0.5, minimum=3)
    assert events(plan, [9, 9, -9, 9, 9, 9, 9]) == [Event(500, 0, 9, START)]


def test_no_event_starts_within_the_refractory_time() -> None:
    column = [9, -9, 9, -9, 9, 9]
    plan = plan_of(1, threshold=0.5, refractory_ms=25, rate=16000)  # 400 samples
    assert [e.at for e in events(plan, column) if e.kind is START] == [0, 400]
    plan = plan_of(1, threshold=0.5, refractory_hops=3, hop=100)  # hop 3 ends before it starts again
    assert [e.at for e in events(plan, column) if e.kind is START] == [0, 400]
    plan = plan_of(1, threshold=0.5)
    assert [e.at for e in events(plan, column) if e.kind is START] == [0, 200, 400]


def test_only_the_best_of_exclusive_classes_starts() -> None:
    plan = plan_of(3, threshold=0.5)
    # Class 1 is better than class 0; class 0 starts when class 1 has ended, in the same hop.
    found = events(plan, [20, 20, 20], [30, 10, -5], [30, -9, -9])
    assert found == [Event(0, 1, 30, START), Event(200, 1, -5, END), Event(200, 0, 20, START)]


def test_classes_that_are_not_exclusive_have_events_of_their_own() -> None:
    plan = plan_of(2, threshold=0.5, exclusive=False, refractory_hops=2, hop=100)
    found = events(plan, [20, 20, -1, 20], [-9, 30, -9, 30])
    assert [(e.at, e.index, e.kind) for e in found] == [
        (0, 0, START),
        (100, 1, START),
        (200, 0, END),
        (200, 1, END),
        (300, 0, START),
        (300, 1, START),
    ]


def test_ignored_classes_have_no_events() -> None:
    plan = plan_of(3, ("silence", "unknown", "yes"), threshold=0.5, ignore=["silence", 1])
    assert [e.index for e in events(plan, [127], [127], [3])] == [2]


def test_a_closed_gate_gives_the_lowest_scores() -> None:
    plan = plan_of(2, threshold=0.5, smooth="mean", hops=2)
    scores = np.array([[90, 0], [90, 0], [90, 0], [90, 0]], np.int8)
    at = [0, 1, 2, 3]
    lowest = scores.copy()
    lowest[2:] = -128
    assert decide_all(plan, scores, at, [True, True, False, False]) == decide_all(plan, lowest, at)


@settings(max_examples=example_count(200), deadline=None)
@given(decision_plans(), st.data())
def test_starts_and_ends_of_a_class_alternate(plan: DecisionPlan, data: st.DataObject) -> None:
    hops = data.draw(st.integers(0, 60))
    scores = np.random.default_rng(data.draw(st.integers(0, 999))).integers(-128, 128, (hops, plan.classes))
    found = decide_all(plan, scores.astype(np.int8), [100 * k for k in range(hops)])
    starts = [e for e in found if e.kind is START]
    for k in range(plan.classes):
        kinds = [e.kind for e in found if e.index == k]
        assert kinds == [START, END] * (len(kinds) // 2) + [START] * (len(kinds) % 2)
    for first, second in itertools.pairwise(starts):
        if plan.exclusive or first.index == second.index:
            assert second.at - first.at >= plan.refractory
    if plan.exclusive:
        # An event ends before the next one starts.
        kinds = [e.kind for e in found]
        assert kinds == [START, END] * (len(kinds) // 2) + [START] * (len(kinds) % 2)


def test_a_gate_opens_at_its_level_and_stays_open_for_the_hang_over() -> None:
    plan = plan_gate(Gate(threshold=-20.0, release=-26.0, block=160, hang_ms=20.0), rate=16000)
    assert plan.hang == 2 and plan.on == round((32768 * 0.1) ** 2)
    square = np.resize(np.array([1, -1], np.int16), 160)  # its standard deviation is its amplitude
    levels = [0, 3276, 3277, 1700, 1600, 0, 0, 3276]
    gate = SampleGate(plan)
    # 1,700 is above the release, 3,277 * 0.5; the gate stays open two blocks after it.
    assert [gate.measure(square * level) for level in levels] == [False, False] + [True] * 4 + [False] * 2


def test_a_constant_offset_does_not_open_a_gate() -> None:
    gate = SampleGate(plan_gate(Gate(threshold=10.0, block=8, channels=3, unit="counts")))
    still = np.full((8, 3), 16384, np.int16)
    assert not gate.measure(still)
    still[:4, 2] += 21  # a standard deviation of 10.5 in one axis
    assert gate.measure(still)


def test_variances_of_channels_are_added() -> None:
    gate = SampleGate(plan_gate(Gate(threshold=10.0, block=2, channels=2, unit="counts")))
    assert not gate.measure(np.array([[0, 0], [19, 0]], np.int16))
    assert gate.measure(np.array([[0, 0], [16, 12]], np.int16))
