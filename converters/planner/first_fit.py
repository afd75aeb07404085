"""Compute offsets by first fit: place every block at the lowest free address, in several orders.

The blocks are ``Buffer``s. Two blocks that live at the same time must not overlap. Because a buffer's size can change
over time, the distance of two blocks depends on which block is below the other: ``PlacementProblem.gap[a][b]`` is the
smallest allowed ``offset(b) - offset(a)`` if block a is below block b. It is the largest size of a at any step at which
both live, and 0 if they never live at the same time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arenite.converters.planner.lifetimes import Buffer
from arenite.converters.planner.lower_bound import live_bound


@dataclass(frozen=True)
class PlacementProblem:
    """The blocks to place, and the distances between them."""

    buffers: tuple[Buffer, ...]
    gap: tuple[tuple[int, ...], ...]
    #: For each block, the blocks that live at the same time at some step.
    neighbours: tuple[tuple[int, ...], ...]
    bound: int  # lower bound of the arena: the largest sum of live bytes

    def top(self, offsets: Sequence[int]) -> int:
        """Return the arena bytes of a complete placement."""
        return max((o + b.size for o, b in zip(offsets, self.buffers, strict=True)), default=0)


def placement_problem(buffers: Sequence[Buffer]) -> PlacementProblem:
    """Return the placement problem of ``buffers``, with the distances of all pairs."""
    n = len(buffers)
    gap = [[0] * n for _ in range(n)]
    for a in range(n):
        for b in range(a):
            if buffers[a].start < buffers[b].end and buffers[b].start < buffers[a].end:
                gap[a][b], gap[b][a] = _overlapping_sizes(buffers[a], buffers[b])
    neighbours = tuple(tuple(b for b in range(n) if gap[a][b]) for a in range(n))
    steps = max((b.end for b in buffers), default=0)
    return PlacementProblem(tuple(buffers), tuple(map(tuple, gap)), neighbours, live_bound(buffers, steps))


def _overlapping_sizes(a: Buffer, b: Buffer) -> tuple[int, int]:
    """Return the largest size of ``a`` and the largest size of ``b`` while both live."""
    high_a = high_b = 0
    for start_a, end_a, size_a in a.pieces:
        for start_b, end_b, size_b in b.pieces:
            if start_a < end_b and start_b < end_a:
                high_a, high_b = max(high_a, size_a), max(high_b, size_b)
    return high_a, high_b


def first_fit(problem: PlacementProblem, sequence: Sequence[int]) -> list[int]:
    """Place the blocks in the order ``sequence``, each at the lowest address that is free while it lives. Return the
    offset of each block."""
    offsets = [-1] * len(problem.buffers)
    for b in sequence:
        # Open intervals in which b may not begin.
        blocked = sorted(
            (offsets[a] - problem.gap[b][a], offsets[a] + problem.gap[a][b])
            for a in problem.neighbours[b]
            if offsets[a] >= 0
        )
        address = 0
        for low, high in blocked:
            if address <= low:
                break
            address = max(address, high)
        offsets[b] = address
    return offsets


#: Sort keys of the orders in which the blocks are placed.
_KEYS: tuple[Callable[[Buffer], tuple[int, ...]], ...] = (
    lambda b: (-b.size, -(b.end - b.start)),
    lambda b: (-b.size * (b.end - b.start), -b.size),
    lambda b: (-(b.end - b.start), -b.size),
    lambda b: (b.start, -b.size),
    lambda b: (-b.end, -b.size),
)

#: The number of first fits per sort key. After each, the blocks that reach the top of the arena are moved to the
#: front of the sequence.
_ROUNDS = 24


def first_fit_in_several_orders(problem: PlacementProblem) -> list[int]:
    """Return the offsets of the best first-fit placement over several orders. Stop at a placement that meets the
    bound."""
    best: list[int] = []
    for key in _KEYS:
        sequence = sorted(range(len(problem.buffers)), key=lambda b: (*key(problem.buffers[b]), b))
        for _ in range(_ROUNDS):
            offsets = first_fit(problem, sequence)
            if not best or problem.top(offsets) < problem.top(best):
                best = offsets
            if problem.top(best) <= problem.bound:
                return best
            high = problem.top(offsets)
            top_blocks = [b for b in sequence if offsets[b] + problem.buffers[b].size == high]
            if sequence[: len(top_blocks)] == top_blocks:
                break
            sequence = top_blocks + [b for b in sequence if b not in top_blocks]
    return best


def hill_climb(problem: PlacementProblem, start: Sequence[int], rounds: int) -> list[int]:
    """Improve the placement ``start`` by hill climbing and return the offsets of the best placement.

    Each of ``rounds`` rounds moves one block to an earlier position in the sequence of a first fit, or swaps two
    blocks, and keeps the result if the arena is no larger. The search stops at the bound. The choices are
    pseudo-random, with the same seed in every run. Most rounds move a block at the top of the arena, or a block that
    lives at the same time as such a block, because only these can lower the arena.
    """
    rng = random.Random(0)

    def pick(count: int) -> int:
        return int(rng.random() * count)

    sequence = sorted(range(len(start)), key=lambda b: (start[b], b))
    best = offsets = first_fit(problem, sequence)
    for _ in range(rounds):
        height = problem.top(offsets)
        if height <= problem.bound:
            break
        changed = list(sequence)
        if rng.random() < 0.75:
            high = [b for b in sequence if offsets[b] + problem.buffers[b].size == height]
            block = high[pick(len(high))]
            near = (block, *problem.neighbours[block])
            position = changed.index(near[pick(len(near))])
            changed.insert(pick(position + 1), changed.pop(position))
        else:
            a, b = pick(len(changed)), pick(len(changed))
            changed[a], changed[b] = changed[b], changed[a]
        moved = first_fit(problem, changed)
        if problem.top(moved) <= height:
            sequence, offsets = changed, moved
        if problem.top(moved) < problem.top(best):
            best = moved
    return best
