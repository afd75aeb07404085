"""Trial outcomes choose builds, meet limits and form Pareto fronts as defined."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.quantize.search.budget import Budget
from arenite.converters.quantize.search.choice import choice_reason
from arenite.converters.quantize.search.outcome import (
    BuildCost,
    TrialOutcome,
    objectives,
    pareto_front,
    rank_outcomes,
)
from tests.example_count import example_count


def outcome(drop: float, *builds: tuple[int, int, int], name: str = "a") -> TrialOutcome:
    """Return an outcome with the loss ``drop``. Each build has (RAM, flash, instructions)."""
    costs = tuple(BuildCost(f"--optimise {k}", *b) for k, b in enumerate(builds))
    return TrialOutcome({"calibrator": name}, name, costs, 0.9 - drop, drop)


def test_the_build_that_meets_the_budget_is_chosen() -> None:
    outcomes = outcome(0.0, (100, 50, 10), (60, 60, 20), (40, 70, 90))
    assert outcomes.build(Budget()).ram == 100  # without limits, the first build is chosen
    assert outcomes.build(Budget(ram=64)).ram == 60 and outcomes.meets(Budget(ram=64))
    assert outcomes.build(Budget(ram=30)).ram == 40 and not outcomes.meets(Budget(ram=30))
    assert outcomes.misses(Budget(ram=30)) == ["10 B of ram too much (40 of 30)"]
    assert outcomes.misses(Budget(instructions=5))[0].startswith("5 instructions too much")


def test_accuracy_and_drop_are_limits_too() -> None:
    outcomes = outcome(0.02, (1, 1, 1))
    assert outcomes.meets(Budget(drop=0.02)) and not outcomes.meets(Budget(drop=0.01))
    assert outcomes.meets(Budget(accuracy=0.88)) and not outcomes.meets(Budget(accuracy=0.89))
    assert "loses 2.00 points, 1 are allowed" in outcomes.misses(Budget(drop=0.01))
    assert outcomes.violations(Budget(drop=0.0)) == pytest.approx([0.0, 0.0, 0.0, 2.0])


def test_a_recipe_without_an_image_meets_no_budget() -> None:
    failed = TrialOutcome({}, "", (), 0.0, 0.0, error="There is no kernel.")
    assert not failed.meets(Budget()) and failed.misses(Budget()) == ["There is no kernel."]
    assert pareto_front([failed], Budget(), objectives(Budget())) == []


def test_outcomes_are_ranked_by_loss_then_speed_then_flash() -> None:
    outcomes = [
        outcome(0.0, (1, 100, 1000)),
        outcome(0.0004, (1, 60, 1050)),  # loss and speed equal those above within the margin of error
        outcome(0.0, (1, 20, 9000)),
        outcome(-0.005, (1, 200, 9000)),
        outcome(0.0, (1, 900, 10)),  # too large
    ]
    assert rank_outcomes(outcomes, Budget(flash=500)) == [3, 1, 0, 2]
    # This recipe changed many decisions in both directions, so its smaller loss can be chance.
    outcomes[3] = replace(outcomes[3], deviation=0.01)
    assert rank_outcomes(outcomes, Budget(flash=500)) == [1, 0, 2, 3]


def test_outcomes_of_equal_loss_and_speed_are_ranked_by_the_distance_to_the_nearest_limit() -> None:
    """int4 weights save flash and need more RAM. The nearest limit is that of RAM in the first case, of flash in the
    second."""
    int8, int4 = outcome(0.0, (40, 300, 1000)), outcome(0.0, (44, 200, 1000), name="int4")
    assert rank_outcomes([int8, int4], Budget(ram=48, flash=1000)) == [0, 1]
    assert rank_outcomes([int8, int4], Budget(ram=480, flash=310)) == [1, 0]
    assert rank_outcomes([int8, int4], Budget()) == [1, 0]  # without limits: the least flash


def test_the_choice_of_another_recipe_than_int8_has_a_reason() -> None:
    plain = outcome(0.004, (40, 300, 1000))
    less_loss = outcome(0.0, (44, 200, 1500), name="int4")
    faster = outcome(0.004, (44, 200, 500), name="fast")
    more_room = outcome(0.004, (44, 200, 1000), name="more_room")
    trials = [plain, less_loss, faster, more_room]
    budget = Budget(ram=400, flash=310)
    text = choice_reason(trials, 1, budget, "accuracy")
    assert "meets the budget too, with 40 B of RAM, 300 B of flash and 1,000 instructions" in text
    assert "against 44 B, 200 B and 1,500" in text and "loses 0.4 points less" in text
    assert "500 fewer instructions" in choice_reason(trials, 2, budget, "accuracy")
    assert "more room at the nearest limit" in choice_reason(trials, 3, budget, "accuracy")
    assert "100 B of flash too much" in choice_reason(trials, 1, Budget(flash=200), "accuracy")
    assert (
        choice_reason(trials, 0, budget, "accuracy") == choice_reason(trials, None, budget, "accuracy") == ""
    )


def test_an_outcome_is_read_back_from_json() -> None:
    outcomes = outcome(0.5, (1, 2, 3))
    assert TrialOutcome.from_json(outcomes.to_json()) == outcomes
    assert outcomes.to_json()["builds"][0]["instructions"] == {"value": 3, "kind": "estimated"}


@settings(max_examples=example_count(60), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=12))
def test_the_pareto_front_has_the_outcomes_that_no_other_outcome_beats(
    points: list[tuple[int, int, int]],
) -> None:
    budget = Budget(ram=10)
    outcomes = [outcome(d / 10, (ram, flash, 1), name=str(k)) for k, (d, ram, flash) in enumerate(points)]
    front_indices = pareto_front(outcomes, budget, objectives(budget))
    front = {points[k] for k in front_indices}
    assert len(front) == len(front_indices)
    for p in points:
        beaten = any(q != p and all(a <= b for a, b in zip(q, p, strict=True)) for q in points)
        assert (p in front) == (not beaten)
    flashes = [points[k][2] for k in front_indices]
    assert flashes == sorted(flashes)
