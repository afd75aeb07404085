"""Tests of the strategies to split an arena between fast and slow memory. By the planner's estimate of slow accesses,
no simple strategy is better than the planner's choice."""

from __future__ import annotations

import pytest

from arenite.firmware.generator.target import Target
from arenite.firmware.sizes.accesses import estimate_accesses
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.build.split_arena import slow_accesses
from benchmarks.memory_split import STRATEGIES, table
from tests.host.small_graphs import classifier, save


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    path = save(classifier(24, 8), tmp_path_factory.mktemp("strategies") / "small.tflite")
    return prepare(path).retarget(Target.for_core("cortex-m4f", "speed", False))


@pytest.mark.parametrize("share", [80, 60, 40])  # percent of the arena that fits into fast memory
def test_the_planner_is_at_least_as_good_as_every_simple_strategy(small: Prepared, share: int) -> None:
    limits = (small.plan.arena_bytes * share // 100, 1 << 20)  # bytes of fast and of slow memory
    accesses = estimate_accesses(small.generated)
    plans = {strategy: choose(small, limits) for strategy, choose in STRATEGIES.items()}
    best = plans["planner"]
    assert best is not None and best.plan.split is not None and best.plan.split.status == "optimal"
    assert slow_accesses(best.plan, accesses) == best.plan.split.accesses
    for strategy, other in plans.items():
        assert other is not None, strategy
        assert other.plan.fast_bytes <= limits[0]
        assert slow_accesses(other.plan, accesses) >= best.plan.split.accesses
    everything = plans["all moved"]
    assert everything is not None
    assert slow_accesses(everything.plan, accesses) == sum(accesses.tensors.values())


def test_the_table_compares_with_the_planners_count() -> None:
    row = {"model": "m_int8", "limit": 1000, "fast": 900, "slow": 500, "estimated": 110}
    rows = [{**row, "way": "planner", "counted": 100}, {**row, "way": "largest moved", "counted": 250}]
    assert table(rows).splitlines()[-1] == "| m | 1,000 | 900 + 500 | 110 | 100 | 2.50× | – | – |"
