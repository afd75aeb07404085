"""Builds, limits and fronts by their definitions."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.quantize.search.budget import Budget
from arenite.converters.quantize.search.outcome import (
    BuildCost,
    TrialOutcome,
    objectives,
    pareto_front,
    rank_outcomes,
)


def outcome(drop: float, *builds: tuple[int, int, int], name: str = "a") -> TrialOutcome:
    made = tuple(BuildCost(f"--optimise {k}", *b) for k, b in enumerate(builds))
    return TrialOutcome({"calibrator": name}, name, made, 0.9 - drop, drop)


def test_the_build_that_meets_the_budget_is_taken() -> None:
    tried = outcome(0.0, (100, 50, 10), (60, 60, 20), (40, 70, 90))
    assert tried.build(Budget()).ram == 100  # the first
    assert tried.build(Budget(ram=64)).ram == 60 and tried.meets(Budget(ram=64))
    assert tried.build(Budget(ram=30)).ram == 40 and not tried.meets(Budget(ram=30))
    assert tried.misses(Budget(ram=30)) == ["10 B of ram too much (40 of 30)"]
    assert tried.misses(Budget(instructions=5))[0].startswith("5 instructions too much")


def test_losses_are_limits_too() -> None:
    tried = outcome(0.02, (1, 1, 1))
    assert tried.meets(Budget(drop=0.02)) and not tried.meets(Budget(drop=0.01))
    assert tried.meets(Budget(accuracy=0.88)) and not tried.meets(Budget(accuracy=0.89))
    assert "loses 2.00 points, 1 are allowed" in tried.misses(Budget(drop=0.01))
    assert tried.violations(Budget(drop=0.0)) == pytest.approx([0.0, 0.0, 0.0, 2.0])


def test_a_recipe_without_image_never_meets() -> None:
    failed = TrialOutcome({}, "", (), 0.0, 0.0, error="There is no kernel.")
    assert not failed.meets(Budget()) and failed.misses(Budget()) == ["There is no kernel."]
    assert pareto_front([failed], Budget(), objectives(Budget())) == []


def test_merit_is_loss_then_speed_then_flash() -> None:
    tried = [
        outcome(0.0, (1, 100, 1000)),
        outcome(0.0004, (1, 60, 1050)),  # the same loss and speed, as far as one can tell
        outcome(0.0, (1, 20, 9000)),
        outcome(-0.005, (1, 200, 9000)),
        outcome(0.0, (1, 900, 10)),  # too large
    ]
    assert rank_outcomes(tried, Budget(flash=500)) == [3, 1, 0, 2]
    # It changed many decisions, for better and worse: no better than the others by more than chance.
    tried[3] = replace(tried[3], deviation=0.01)
    assert rank_outcomes(tried, Budget(flash=500)) == [1, 0, 2, 3]


def test_json_and_back() -> None:
    tried = outcome(0.5, (1, 2, 3))
    assert TrialOutcome.of_json(tried.to_json()) == tried
    assert tried.to_json()["builds"][0]["instructions"] == {"value": 3, "kind": "estimated"}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=12))
def test_the_front_is_what_nothing_beats(points: list[tuple[int, int, int]]) -> None:
    budget = Budget(ram=10)
    tried = [outcome(d / 10, (ram, flash, 1), name=str(k)) for k, (d, ram, flash) in enumerate(points)]
    places = pareto_front(tried, budget, objectives(budget))
    kept = {points[k] for k in places}
    assert len(kept) == len(places)
    for p in points:
        beaten = any(q != p and all(a <= b for a, b in zip(q, p, strict=True)) for q in points)
        assert (p in kept) == (not beaten)
    flashes = [points[k][2] for k in places]
    assert flashes == sorted(flashes)
