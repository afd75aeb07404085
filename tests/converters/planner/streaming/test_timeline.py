"""The blocks that hold rows: rows that live at the same time never have the same bytes."""

from __future__ import annotations

from itertools import combinations

import pytest

from arenite.converters.planner.lifetimes import arena_requirements
from arenite.converters.planner.streaming.placement import PlacedBlock, live_bytes
from arenite.converters.planner.streaming.schedule import make_schedule
from arenite.converters.planner.streaming.timeline import (
    OrderedGraph,
    PlanItem,
    RingBlock,
    RowBlock,
    RowPlacing,
    Timeline,
)
from tests.converters.planner.streaming.random_chains import ImageBuilder


def timeline(placing: RowPlacing) -> Timeline:
    """Return the timeline of one segment: two convolutions, an ADD and a mean, whose input arrives by rows."""
    b = ImageBuilder()
    x = b.input(20, 10)
    first = b.window(x, 30, stride=2)
    second = b.window(b.window(first, 30, in_place=True), 30, taps=1, in_place=True)
    case = b.case(b.mean(b.add(second, first)))
    needs, order = list(case.needs), tuple(range(5))
    requirements = arena_requirements(case.graph, needs, alignment=16)
    schedule = make_schedule(case.graph, needs, order, x)
    assert schedule is not None
    item = PlanItem(0, len(order), schedule, 0, 0)
    return Timeline(OrderedGraph(case.graph, needs, requirements, order, x), [item], placing)


def overlaps(block: PlacedBlock) -> bool:
    """Return whether two pieces of a block have the same bytes at the same time."""
    return any(
        p[0] < q[1] and q[0] < p[1] and p[2] < q[3] and q[2] < p[3]
        for p, q in combinations(block.pieces.tolist(), 2)
    )


@pytest.mark.parametrize("placing", RowPlacing)
def test_rows_that_live_at_the_same_time_have_different_bytes(placing: RowPlacing) -> None:
    assert not any(overlaps(b) for b in timeline(placing).blocks())


def test_every_row_is_in_one_block() -> None:
    rows = {(t, r) for t, height in ((0, 20), (1, 10), (2, 10), (3, 10), (4, 10)) for r in range(height)}
    for placing in (RowPlacing.IN_PLACE, RowPlacing.SEPARATE):
        keys = [b.key for b in timeline(placing).blocks()]
        placed = [row for key in keys if isinstance(key, RowBlock) for row in key.rows]
        assert len(placed) == len(rows) and set(placed) == rows
        assert any(isinstance(k, RowBlock) and len(k.rows) > 1 for k in keys) == (
            placing is RowPlacing.IN_PLACE
        )


def test_a_ring_buffer_has_the_fewest_aligned_slots() -> None:
    rings = [b.key for b in timeline(RowPlacing.RING).blocks(row_alignment=8) if isinstance(b.key, RingBlock)]
    # A window of three rows; the other tensors have one row at a time.
    assert {r.tensor: r.slots for r in rings} == {0: 3, 1: 3, 2: 1, 3: 1, 4: 1}
    assert {r.slot_bytes for r in rings} == {16, 32}


def test_rows_that_overwrite_rows_need_the_fewest_bytes() -> None:
    live = [
        live_bytes(t.blocks(), t.ticks)
        for t in map(timeline, (RowPlacing.IN_PLACE, RowPlacing.SEPARATE, RowPlacing.RING))
    ]
    assert live[0] < live[1] == live[2]
