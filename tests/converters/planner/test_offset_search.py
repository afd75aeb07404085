"""The exact offset search against trying everything."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.planner.first_fit import first_fit, first_fit_in_several_orders, placement_problem
from arenite.converters.planner.lifetimes import Buffer
from arenite.converters.planner.offset_search import search_offsets
from tests.converters.planner.brute_force import clash, live_sum, smallest_arena


@st.composite
def buffers(draw: st.DrawFn, most: int = 6, steps: int = 6, largest: int = 4) -> list[Buffer]:
    found = []
    for _ in range(draw(st.integers(0, most))):
        start = draw(st.integers(0, steps - 1))
        end = draw(st.integers(start + 1, steps))
        size = draw(st.integers(1, largest))
        if end - start > 1 and size > 1 and draw(st.booleans()):
            middle = draw(st.integers(start + 1, end - 1))
            smaller = draw(st.integers(1, size - 1))
            found.append(Buffer(((start, middle, size), (middle, end, smaller))))
        else:
            found.append(Buffer(((start, end, size),)))
    return found


def assert_valid(blocks: list[Buffer], offsets: tuple[int, ...] | list[int], arena: int) -> None:
    for a, block in enumerate(blocks):
        assert 0 <= offsets[a] <= arena - block.size
        for b in range(a):
            assert not clash(block, offsets[a], blocks[b], offsets[b])


@settings(max_examples=300, deadline=None)
@given(buffers())
def test_search_finds_the_smallest_arena(blocks: list[Buffer]) -> None:
    found = search_offsets(blocks, budget=100_000)
    assert_valid(blocks, found.offsets, found.arena)
    assert found.live == live_sum(blocks)
    assert found.arena == found.bound == smallest_arena(blocks, 1)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(buffers(most=14, steps=8, largest=30), st.integers(0, 60))
def test_a_small_budget_gives_a_valid_placement_and_a_true_bound(blocks: list[Buffer], budget: int) -> None:
    found = search_offsets(blocks, budget=budget)
    assert_valid(blocks, found.offsets, found.arena)
    assert found.nodes <= budget
    assert found.live == live_sum(blocks) <= found.bound <= found.arena
    better = search_offsets(blocks, budget=200_000)
    assert found.bound <= better.arena <= found.arena
    assert better.bound >= found.bound


@settings(max_examples=200, deadline=None)
@given(buffers(most=12, steps=8, largest=30), st.randoms(use_true_random=False))
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


def test_search_is_repeatable() -> None:
    rng = random.Random(3)
    blocks = [
        Buffer(((s := rng.randrange(20), s + rng.randint(1, 6), 16 * rng.randint(1, 40)),)) for _ in range(30)
    ]
    assert search_offsets(blocks, budget=500) == search_offsets(blocks, budget=500)


@pytest.mark.parametrize("budget", [0, 1, 100])
def test_blocks_of_the_whole_run_lie_at_the_bottom(budget: int) -> None:
    blocks = [Buffer(((0, 2, 5),)), Buffer(((0, 4, 7),)), Buffer(((2, 4, 6),)), Buffer(((0, 4, 1),))]
    found = search_offsets(blocks, budget=budget)
    assert found.offsets == (8, 0, 8, 7)
    assert found.arena == found.bound == 14


def test_ortools_agrees_where_it_is_installed() -> None:
    model_of = pytest.importorskip("ortools.sat.python.cp_model", reason="needs ortools")
    rng = random.Random(7)
    for _ in range(10):
        blocks = [
            Buffer(((s := rng.randrange(10), s + rng.randint(1, 5), rng.randint(1, 40)),)) for _ in range(14)
        ]
        found = search_offsets(blocks, budget=300_000)
        model = model_of.CpModel()
        arena = model.new_int_var(0, sum(b.size for b in blocks), "arena")
        times, places = [], []
        for n, b in enumerate(blocks):
            offset = model.new_int_var(0, sum(b.size for b in blocks), f"o{n}")
            times.append(model.new_fixed_size_interval_var(b.start, b.end - b.start, f"t{n}"))
            places.append(model.new_fixed_size_interval_var(offset, b.size, f"p{n}"))
            model.add(offset + b.size <= arena)
        model.add_no_overlap_2d(times, places)
        model.minimize(arena)
        solver = model_of.CpSolver()
        solver.parameters.num_workers = 1
        assert solver.solve(model) == model_of.OPTIMAL
        assert found.arena == found.bound == round(solver.objective_value)
