"""Arenas over two memories are valid, fit into both, and have as few slow accesses as brute force finds."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.planner import find_violations, plan
from arenite.converters.planner.lifetimes import Buffer, arena_requirements, lifetimes
from arenite.converters.planner.memory_split import AccessCounts, plan_split
from arenite.converters.planner.memory_split_checker import find_split_violations
from arenite.converters.planner.memory_split_search import assign_memories
from arenite.converters.planner.plan import Plan
from arenite.converters.planner.requirements import OpRequirements
from tests.converters.planner.brute_force import smallest_arena
from tests.converters.planner.random_graphs import Case, GraphBuilder, cases
from tests.example_count import example_count


def accesses_of(case: Case, factor: int = 7) -> AccessCounts:
    """Return accesses that differ between tensors: 1 to ``factor`` per byte. Each variable has 50."""
    tensors = {
        t.index: (t.index * 31 % factor + 1) * max(t.nbytes, 1) for t in case.graph.tensors if t.data is None
    }
    return AccessCounts(tensors, dict.fromkeys(case.persistent, 50))


def split_of(case: Case, limits: tuple[int, int], **options: object) -> Plan | None:
    """Return a plan over two memories of ``limits`` bytes, or None if there is none."""
    single = plan(case.graph, case.needs, persistent=case.persistent)
    return plan_split(
        case.graph,
        case.needs,
        single.order,
        accesses_of(case),
        limits,
        persistent=case.persistent,
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.slow
@settings(max_examples=example_count(150), deadline=None)
@given(cases(), st.integers(0, 100), st.booleans())
def test_a_split_is_a_valid_plan_within_its_memories(case: Case, share: int, preferred_slow: bool) -> None:
    single = plan(case.graph, case.needs, persistent=case.persistent)
    limits = (single.arena_bytes * share // 100, single.arena_bytes * 2)
    split = split_of(case, limits, preferred_slow=preferred_slow)
    if split is None:  # only if scratch or variables are too large for the first memory, in units of 16 bytes
        assert any(need.scratch > limits[0] // 16 * 16 for need in case.needs) or limits[0] < sum(
            -(-n // 16) * 16 for n in case.persistent.values()
        )
        return
    assert split.split is not None
    assert find_violations(case.graph, split, case.needs, persistent=case.persistent) == []
    assert (
        find_split_violations(case.graph, split, case.needs, persistent=case.persistent, limits=limits) == []
    )
    assert split.split.bound <= split.split.accesses
    assert Plan.from_json(split.to_json()) == split


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Buffer], list[int], list[bool | None], tuple[int, int]]:
    """Draw an allocation problem for two memories.

    Return up to six blocks, their weights, for each block the memory that it must be in or None, and the sizes of the
    memories in bytes, which are multiples of 16.
    """
    buffers = []
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, 4))
        pieces = ((start, start + draw(st.integers(1, 3)), 16 * draw(st.integers(1, 4))),)
        if draw(st.booleans()):
            first = pieces[0]
            pieces = (first, (first[1], first[1] + 1, max(first[2] - 16, 16)))  # type: ignore[assignment]
        buffers.append(Buffer(pieces))
    weights = [draw(st.integers(0, 50)) for _ in buffers]
    pinned = [draw(st.sampled_from([None, None, None, None, True, False])) for _ in buffers]
    return buffers, weights, pinned, (16 * draw(st.integers(0, 8)), 16 * draw(st.integers(0, 10)))


@pytest.mark.slow
@settings(max_examples=example_count(200), deadline=None)
@given(problems())
def test_the_lightest_assignment_is_found(
    problem: tuple[list[Buffer], list[int], list[bool | None], tuple[int, int]],
) -> None:
    buffers, weights, pinned, limits = problem
    min_weight = None
    for in_first_memory in product((True, False), repeat=len(buffers)):
        if any(
            pin is not None and pin != is_first for pin, is_first in zip(pinned, in_first_memory, strict=True)
        ):
            continue
        weight = sum(w for w, is_first in zip(weights, in_first_memory, strict=True) if not is_first)
        if min_weight is not None and weight >= min_weight:
            continue
        parts = [
            [b for b, s in zip(buffers, in_first_memory, strict=True) if s is is_first]
            for is_first in (True, False)
        ]
        if all(smallest_arena(part, 16) <= limit for part, limit in zip(parts, limits, strict=True)):
            min_weight = weight
    assignment = assign_memories(buffers, weights, pinned, limits, budget=10**6)
    assert (None if assignment is None else assignment.weight) == min_weight
    assert assignment is None or assignment.bound == assignment.weight


@settings(max_examples=example_count(100), deadline=None)
@given(problems(), st.integers(0, 12))
def test_the_bound_of_a_limited_search_is_correct(
    problem: tuple[list[Buffer], list[int], list[bool | None], tuple[int, int]], budget: int
) -> None:
    buffers, weights, pinned, limits = problem
    unlimited = assign_memories(buffers, weights, pinned, limits, budget=10**6)
    limited = assign_memories(buffers, weights, pinned, limits, budget=budget)
    if limited is not None:
        assert unlimited is not None
        assert limited.bound <= unlimited.weight <= limited.weight


def chain(*sizes: int, needs: OpRequirements | None = None) -> Case:
    """Return a chain of operators between tensors of ``sizes`` bytes."""
    b = GraphBuilder()
    last = b.input(sizes[0])
    for size in sizes[1:]:
        (last,) = b.op((last,), (size,), needs=needs)
    return b.case((last,))


def test_the_tensor_with_the_most_accesses_per_byte_is_in_the_first_memory() -> None:
    case = chain(64, 64, 64)
    access_counts = AccessCounts({0: 100, 1: 500, 2: 10})
    split_plan = plan_split(case.graph, case.needs, (0, 1), access_counts, (64, 1000))
    assert split_plan is not None and split_plan.split is not None
    # Tensors 0 and 2 are never live at the same time, but each is live at the same time as 1.
    assert split_plan.offsets[1] < 64 <= min(split_plan.offsets[0], split_plan.offsets[2])
    assert (split_plan.split.accesses, split_plan.split.status) == (110, "optimal")
    assert (split_plan.fast_bytes, split_plan.slow_bytes) == (64, 64)


def test_a_faster_second_memory_gets_the_hot_tensors() -> None:
    case = chain(64, 64, 64)
    access_counts = AccessCounts({0: 100, 1: 500, 2: 10})
    split_plan = plan_split(case.graph, case.needs, (0, 1), access_counts, (1000, 64), preferred_slow=True)
    assert split_plan is not None and split_plan.split is not None
    assert split_plan.offsets[1] >= split_plan.fast_bytes > max(split_plan.offsets[0], split_plan.offsets[2])
    assert split_plan.split.preferred_slow and split_plan.split.accesses == 110


def test_scratch_stays_in_the_first_memory() -> None:
    case = chain(64, 64, needs=OpRequirements(scratch=32))
    split_plan = plan_split(case.graph, case.needs, (0,), AccessCounts({0: 9, 1: 9}), (32, 1000))
    assert split_plan is not None and split_plan.split is not None
    assert split_plan.scratch_offsets == {0: 0} and split_plan.fast_bytes == 32
    assert plan_split(case.graph, case.needs, (0,), AccessCounts({}), (16, 1000)) is None


def test_there_is_no_split_if_a_tensor_fits_neither_memory() -> None:
    case = chain(64, 64)
    assert plan_split(case.graph, case.needs, (0,), AccessCounts({}), (64, 48)) is None


def test_in_place_blocks_share_a_memory() -> None:
    case = chain(64, 64, 64, needs=OpRequirements(in_place=((0, 0),)))
    split_plan = plan_split(case.graph, case.needs, (0, 1), AccessCounts({0: 1, 1: 1, 2: 1}), (64, 1000))
    assert split_plan is not None and split_plan.slow_bytes == 0
    requirements = arena_requirements(case.graph, case.needs, alignment=16)
    assert len(lifetimes(requirements, (0, 1))[0]) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: replace(p, split=replace(p.split, fast_bytes=32)), "crosses the boundary"),
        (lambda p: replace(p, split=replace(p.split, fast_bytes=1000)), "outside the arena"),
        (lambda p: replace(p, split=replace(p.split, fast_bytes=60)), "not aligned"),
        (lambda p: replace(p, split=replace(p.split, status="gap")), "contradicts"),
        (lambda p: replace(p, scratch_offsets={0: 80, 1: 80}), "is in the second memory"),
    ],
)
def test_the_checker_names_the_mistake_of_a_wrong_split(change: object, message: str) -> None:
    case = chain(64, 64, 64, needs=OpRequirements(scratch=16))
    split_plan = plan_split(case.graph, case.needs, (0, 1), AccessCounts({0: 1, 1: 5, 2: 1}), (80, 1000))
    assert split_plan is not None and find_violations(case.graph, split_plan, case.needs) == []
    wrong = change(split_plan)  # type: ignore[operator]
    assert any(message in v for v in find_violations(case.graph, wrong, case.needs))


def test_the_checker_compares_with_the_memory_sizes() -> None:
    case = chain(64, 64)
    split_plan = plan_split(case.graph, case.needs, (0,), AccessCounts({0: 1, 1: 2}), (64, 64))
    assert split_plan is not None
    assert find_split_violations(case.graph, split_plan, case.needs, limits=(64, 64)) == []
    assert len(find_split_violations(case.graph, split_plan, case.needs, limits=(48, 48))) == 2


def test_a_tensor_can_be_assigned_to_a_memory() -> None:
    case = chain(64, 64, 64)
    access_counts = AccessCounts({0: 100, 1: 500, 2: 10})
    split_plan = plan_split(case.graph, case.needs, (0, 1), access_counts, (64, 1000), placed={1: False})
    assert (
        split_plan is not None
        and split_plan.offsets[1] >= split_plan.fast_bytes
        and split_plan.offsets[0] == split_plan.offsets[2] == 0
    )
    assert (
        plan_split(case.graph, case.needs, (0, 1), access_counts, (64, 1000), placed={0: True, 1: True})
        is None
    )
