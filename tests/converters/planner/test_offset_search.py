"""The exact offset search finds the same arena as brute force."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.planner.first_fit import first_fit, first_fit_in_several_orders, placement_problem
from arenite.converters.planner.lifetimes import Buffer
from arenite.converters.planner.offset_search import search_offsets
from tests.converters.planner.brute_force import clash, live_sum, smallest_arena
from tests.example_count import example_count


@st.composite
def buffers(draw: st.DrawFn, max_count: int = 6, steps: int = 6, max_size: int = 4) -> list[Buffer]:
    """Draw blocks with random lifetimes and sizes. Some of them become smaller during their lifetime."""
    blocks = []
    for _ in range(draw(st.integers(0, max_count))):
        start = draw(st.integers(0, steps - 1))
        end = draw(st.integers(start + 1, steps))
        size = draw(st.integers(1, max_size))
        if end - start > 1 and size > 1 and draw(st.booleans()):
            middle = draw(st.integers(start + 1, end - 1))
            smaller = draw(st.integers(1, size - 1))
            blocks.append(Buffer(((start, middle, size), (middle, end, smaller))))
        else:
            blocks.append(Buffer(((start, end, size),)))
    return blocks


def assert_valid(blocks: list[Buffer], offsets: tuple[int, ...] | list[int], arena: int) -> None:
    """Check that all blocks are in the arena and that no two share a byte at any step."""
    for a, block in enumerate(blocks):
        assert 0 <= offsets[a] <= arena - block.size
        for b in range(a):
            assert not clash(block, offsets[a], blocks[b], offsets[b])


@settings(max_examples=example_count(300), deadline=None)
@given(buffers())
def test_search_finds_the_smallest_arena(blocks: list[Buffer]) -> None:
    placement = search_offsets(blocks, budget=100_000)
    assert_valid(blocks, placement.offsets, placement.arena)
    assert placement.live == live_sum(blocks)
    assert placement.arena == placement.bound == smallest_arena(blocks, 1)


@pytest.mark.slow
@settings(max_examples=example_count(200), deadline=None)
@given(buffers(max_count=14, steps=8, max_size=30), st.integers(0, 60))
def test_a_small_budget_gives_a_valid_placement_and_a_correct_bound(
    blocks: list[Buffer], budget: int
) -> None:
    limited = search_offsets(blocks, budget=budget)
    assert_valid(blocks, limited.offsets, limited.arena)
    assert limited.nodes <= budget
    assert limited.live == live_sum(blocks) <= limited.bound <= limited.arena
    thorough = search_offsets(blocks, budget=200_000)
    assert limited.bound <= thorough.arena <= limited.arena
    assert thorough.bound >= limited.bound


@settings(max_examples=example_count(200), deadline=None)
@given(buffers(max_count=12, steps=8, max_size=30), st.randoms(use_true_random=False))
def test_first_fit_is_valid_in_any_sequence(blocks: list[Buffer], rng: random.Random) -> None:
    problem = placement_problem(blocks)
    sequence = list(range(len(blocks)))
    rng.shuffle(sequence)
    offsets = first_fit(problem, sequence)
    assert_valid(blocks, offsets, problem.top(offsets))
    if blocks:
        assert_valid(
            blocks, first_fit_in_several_orders(problem), problem.top(first_fit_in_several_orders(problem))
        )


def test_two_searches_give_the_same_placement() -> None:
    rng = random.Random(3)
    blocks = [
        Buffer(((s := rng.randrange(20), s + rng.randint(1, 6), 16 * rng.randint(1, 40)),)) for _ in range(30)
    ]
    assert search_offsets(blocks, budget=500) == search_offsets(blocks, budget=500)


@pytest.mark.parametrize("budget", [0, 1, 100])
def test_blocks_that_are_always_live_have_the_lowest_offsets(budget: int) -> None:
    blocks = [Buffer(((0, 2, 5),)), Buffer(((0, 4, 7),)), Buffer(((2, 4, 6),)), Buffer(((0, 4, 1),))]
    placement = search_offsets(blocks, budget=budget)
    # Blocks 1 and 3 are live in all four steps.
    assert placement.offsets == (8, 0, 8, 7)
    assert placement.arena == placement.bound == 14


def test_ortools_finds_the_same_arena() -> None:
    cp_model = pytest.importorskip("ortools.sat.python.cp_model", reason="needs ortools")
    rng = random.Random(7)
    for _ in range(10):
        blocks = [
            Buffer(((s := rng.randrange(10), s + rng.randint(1, 5), rng.randint(1, 40)),)) for _ in range(14)
        ]
        placement = search_offsets(blocks, budget=300_000)
        model = cp_model.CpModel()
        arena = model.new_int_var(0, sum(b.size for b in blocks), "arena")
        times, places = [], []
        for n, b in enumerate(blocks):
            offset = model.new_int_var(0, sum(b.size for b in blocks), f"o{n}")
            times.append(model.new_fixed_size_interval_var(b.start, b.end - b.start, f"t{n}"))
            places.append(model.new_fixed_size_interval_var(offset, b.size, f"p{n}"))
            model.add(offset + b.size <= arena)
        model.add_no_overlap_2d(times, places)
        model.minimize(arena)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        assert solver.solve(model) == cp_model.OPTIMAL
        assert placement.arena == placement.bound == round(solver.objective_value)
