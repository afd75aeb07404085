"""Events are matched with labels, and thresholds are chosen for a target."""

from __future__ import annotations

import pytest

from arenite.converters.decision.record import Decision
from arenite.host.tune.curve import CurvePoint, Target, candidate_thresholds, choose, single_class_plans
from arenite.host.tune.matching import Matches, match
from arenite.host.tune.recordings import Span
from tests.converters.decision.streams import score_tensor


def test_an_event_finds_the_first_free_label() -> None:
    spans = [Span(100, 200, 0), Span(250, 300, 0), Span(900, 950, 0)]
    matches = match([99, 100, 260, 299, 400], spans, 50)
    # 99 is before the first label; 299 is the second event for the second label; 400 is too late.
    assert (matches.labels, matches.misses, matches.false_accepts) == (3, 1, 3)
    assert matches.delays == [-100, -40]


def test_an_event_may_start_within_the_tolerance() -> None:
    assert match([249], [Span(100, 200, 0)], 50).misses == 0
    assert match([250], [Span(100, 200, 0)], 50).misses == 1


def points(*counts: tuple[int, int]) -> list[CurvePoint]:
    """Return a curve with these misses and false accepts, of ten labels."""
    return [
        CurvePoint(k / 10, k / 20, Matches(10, misses, false)) for k, (misses, false) in enumerate(counts)
    ]


CURVE = points((8, 1), (0, 30), (0, 9), (1, 4), (1, 4), (1, 4), (3, 1), (6, 0), (10, 0))


@pytest.mark.parametrize(
    ("target", "hours", "index"),
    [
        (Target(4.0), 1.0, 4),  # one miss, in the middle of three equal points
        (Target(2.0), 2.0, 4),
        (Target(1.0), 1.0, 6),  # not the lowest threshold, where one event never ends
        (Target(0.0), 1.0, 7),
        (Target(misses=0.0), 1.0, 2),
        (Target(misses=0.1), 1.0, 4),
        (Target(misses=0.35), 1.0, 6),
        (Target(misses=0.6), 1.0, 7),
    ],
)
def test_the_chosen_point_reaches_the_target(target: Target, hours: float, index: int) -> None:
    assert choose(CURVE, target, hours) == CURVE[index]


def test_without_a_point_that_reaches_the_target_the_nearest_is_chosen() -> None:
    curve = points((5, 9), (4, 20), (4, 12), (6, 3))
    assert choose(curve, Target(misses=0.1), 1.0) == curve[2]
    assert choose(curve, Target(1.0), 1.0) == curve[3]


@pytest.mark.parametrize("logits", [False, True])
def test_candidates_lie_between_stored_scores(logits: bool) -> None:
    tensor = score_tensor(4, 0.06, 10) if logits else score_tensor(4)
    plans = single_class_plans(Decision(0.8, 0.4, logits=logits), tensor, 0)
    assert [plan.on for _, _, plan in plans] == [(stored,) for stored in range(-127, 128)]
    for threshold, release, plan in plans:
        assert release <= threshold and plan.off <= plan.on
    assert all(0 < t < 1 for t, _, _ in plans)


def test_the_release_keeps_its_place() -> None:
    pairs = list(candidate_thresholds(Decision(0.8, 0.4), score_tensor(4)))
    assert all(release == pytest.approx(threshold / 2, rel=1e-4) for threshold, release in pairs)
    pairs = list(candidate_thresholds(Decision(0.8), score_tensor(4)))
    assert all(release == threshold for threshold, release in pairs)
