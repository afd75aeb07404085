"""Find the offsets of blocks by exact search.

Any placement can be pushed down until every block is at address 0 or on top of another block. Such a *settled*
placement, sorted by offset, is a sequence in which every block begins at the lowest address above all earlier blocks
that live at the same time. The search goes through these sequences, depth first, for one arena size at a time. A
waiting block is one that is not placed yet. The search cuts sequences in which

* the next block has a lower offset than the block before it, because sequences are sorted by offset;
* two identical blocks, or two blocks at one address, are not in the order of their indices, because a sequence with
  them in that order gives the same placement;
* there is a hole below the new block into which a waiting block would fit completely. That block could be moved into
  the hole, which gives a smaller sum of offsets, so some best placement has no such hole;
* the waiting blocks cannot fit: at each step of time, their bytes must be above the lowest free address.

After a block has been placed, the waiting blocks often fall into groups that do not live at the same time. Each group
is solved separately. If a group has no solution, the search goes back to the block that separated the group, and does
not try other placements of the groups that were solved after that block.

Blocks that live in all steps are placed first, at the bottom. If the search ends within its budget of nodes, the best
placement is optimal. The method is that of minimalloc (Moffitt, 2023), extended to blocks whose size changes over time.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from arenite.converters.planner.first_fit import (
    PlacementProblem,
    first_fit_in_several_orders,
    hill_climb,
    placement_problem,
)
from arenite.converters.planner.lifetimes import Buffer

#: The number of rounds of hill climbing before the exact search.
_ROUNDS = 600


@dataclass(frozen=True)
class Placement:
    """The offsets of blocks, and the result of the search. Sizes are in bytes."""

    offsets: tuple[int, ...]  # one per buffer
    arena: int  # the size of the arena
    bound: int  # a proven lower bound of the arena
    live: int  # largest sum of live bytes; the search may prove a larger ``bound``
    nodes: int  # search nodes used


def search_offsets(buffers: Sequence[Buffer], *, budget: int) -> Placement:
    """Return the offsets of ``buffers`` with the smallest arena that a search of ``budget`` nodes finds."""
    offsets = [0] * len(buffers)
    steps = max((b.end for b in buffers), default=0)
    base = 0
    others = []
    for b, buffer in enumerate(buffers):
        if buffer.pieces == ((0, steps, buffer.size),):
            offsets[b] = base
            base += buffer.size
        else:
            others.append(b)
    problems = [
        (part, placement_problem([buffers[b] for b in part])) for part in _split_by_lifetime(buffers, others)
    ]
    live = max((p.bound for _, p in problems), default=0)
    arena = bound = live
    nodes = 0
    # The group with the most live bytes is first: the other groups may then use its memory too.
    for part, problem in sorted(problems, key=lambda p: -p[1].bound):
        better, proven, used = solve_offsets(problem, enough=arena, budget=budget - nodes)
        nodes += used
        arena, bound = max(arena, problem.top(better)), max(bound, proven)
        for b, offset in zip(part, better, strict=True):
            offsets[b] = base + offset
    return Placement(tuple(offsets), base + arena, base + bound, base + live, nodes)


def _split_by_lifetime(buffers: Sequence[Buffer], members: Sequence[int]) -> list[list[int]]:
    """Split the blocks ``members`` into groups, so that no blocks of different groups live at the same time."""
    groups: list[list[int]] = []
    end = 0
    for b in sorted(members, key=lambda b: buffers[b].start):
        if not groups or buffers[b].start >= end:
            groups.append([])
        groups[-1].append(b)
        end = max(end, buffers[b].end)
    return groups


def solve_offsets(problem: PlacementProblem, *, enough: int, budget: int) -> tuple[list[int], int, int]:
    """Return (offsets, proven lower bound of the arena, search nodes used). The search stops when it has found an
    arena of at most ``enough`` bytes, or after ``budget`` nodes."""
    best = first_fit_in_several_orders(problem)
    if problem.top(best) > max(enough, problem.bound):
        best = min(best, hill_climb(problem, best, min(_ROUNDS, budget)), key=problem.top)
    unit = math.gcd(*(size for b in problem.buffers for _, _, size in b.pieces))
    low = problem.bound  # it is proven that no arena is smaller
    # The arena size to try. The first is the smallest size, which is usually possible.
    limit = max(enough, low) // unit * unit
    # Arenas below this size are not tried any more, because a search for one used up its share of nodes.
    open_below = low
    if budget <= 0 or problem.top(best) <= max(enough, low):
        return best, min(low, problem.top(best)), 0  # the tables of the search take long for many blocks
    search = _Search(problem)
    while problem.top(best) > max(enough, low, open_below) and search.nodes < budget:
        offsets = search.run(limit, search.nodes + (budget - search.nodes + 1) // 2)
        if offsets is not None:
            best = offsets
        elif search.exhausted:
            low = limit + unit
        else:
            open_below = limit + unit
        high = problem.top(best) - unit
        limit = max(low, open_below, enough // unit * unit)
        limit += (high - limit) // (2 * unit) * unit
    return best, min(low, problem.top(best)), search.nodes


@dataclass(frozen=True)
class _BlockGroup:
    """A group of waiting blocks whose lifetimes overlap, directly or through other blocks of the group."""

    members: tuple[int, ...]  # sorted by start
    low: int  # the minimum address for blocks of the group
    last: int  # the block placed at ``low`` that separated the group from other blocks; -1 if there is none
    parent: int  # the depth at which ``last`` was placed; -1 if there is none


@dataclass
class _SearchLevel:
    """The state of the search at one depth. One block of ``group`` is placed here, as the lowest of the group."""

    group: _BlockGroup
    others: tuple[_BlockGroup, ...]  # groups to solve afterwards
    options: list[int]  # blocks of the group that were not tried yet
    block: int = -1  # the block that is placed at this depth; -1 if none is
    floors: list[tuple[int, int]] = field(default_factory=list)  # changes to undo: (block, its floor before)


class _Search:
    """A depth-first search for one arena size at a time.

    ``nodes`` counts the placed blocks over all sizes. ``previous_identical`` is the result of ``_identical_blocks``.
    ``steps`` and ``sections`` are the results of ``_sections``: a section is the set of (block, size) that live at
    one step. ``sections_of[b]`` has the (section, size) of block b.
    """

    def __init__(self, problem: PlacementProblem) -> None:
        self.problem = problem
        self.nodes, self.exhausted = 0, False
        self.n = len(problem.buffers)
        self.previous_identical = _identical_blocks(problem.buffers)
        self.steps, self.sections = _sections(problem.buffers)
        self.sections_of: list[list[tuple[int, int]]] = [[] for _ in range(self.n)]
        for s, section in enumerate(self.sections):
            for b, size in section:
                self.sections_of[b].append((s, size))
        self.floor: list[int] = []  # for each block, the lowest address above all placed neighbours
        self.offset: list[int] = []  # for each block, its offset, or -1 if it is not placed
        self.waiting: list[int] = []  # for each section, the bytes of blocks that are not placed

    def run(self, limit: int, budget: int) -> list[int] | None:
        """Return the offsets of a placement of at most ``limit`` bytes. Return None if there is none (then
        ``exhausted`` is true), or if ``nodes`` has reached ``budget``."""
        self.floor, self.offset = [0] * self.n, [-1] * self.n
        self.waiting = [sum(size for _, size in section) for section in self.sections]
        self.exhausted = False
        start = sorted(range(self.n), key=lambda b: (self.problem.buffers[b].start, b))
        pending = self._split(start, 0, -1, -1)
        levels: list[_SearchLevel] = []
        while pending:
            levels.append(_SearchLevel(pending[-1], pending[:-1], self._options(pending[-1])))
            while True:
                level = levels[-1]
                if level.block >= 0:
                    self._unplace(level)
                if not level.options:
                    # The group has no solution: go back to the depth of the block that separated it.
                    while len(levels) > level.group.parent + 1:
                        if levels[-1].block >= 0:
                            self._unplace(levels[-1])
                        levels.pop()
                    if not levels:
                        self.exhausted = True
                        return None
                    continue
                if self.nodes >= budget:
                    return None
                self.nodes += 1
                if self._place(level, level.options.pop(), limit):
                    others = [b for b in level.group.members if b != level.block]
                    low = self.offset[level.block]
                    pending = level.others + self._split(others, low, level.block, len(levels) - 1)
                    break
        return list(self.offset)

    def _place(self, level: _SearchLevel, b: int, limit: int) -> bool:
        """Place block ``b`` at its floor. Return False if the block or the rest of its group then does not fit into
        ``limit`` bytes."""
        gap, buffers = self.problem.gap, self.problem.buffers
        level.block, level.floors = b, []
        low = self.offset[b] = self.floor[b]
        for a in self.problem.neighbours[b]:
            high = low + gap[b][a]
            if self.offset[a] < 0 and self.floor[a] < high:
                level.floors.append((a, self.floor[a]))
                self.floor[a] = high
        for s, size in self.sections_of[b]:
            self.waiting[s] -= size
        if low + buffers[b].size > limit:
            return False
        members = level.group.members
        first = bisect_left(self.steps, buffers[members[0]].start)
        last = bisect_left(self.steps, max(buffers[m].end for m in members))
        for s in range(first, last):
            waiting_bytes = self.waiting[s]
            if waiting_bytes:
                lowest = min(self.floor[m] for m, _ in self.sections[s] if self.offset[m] < 0)
                if max(lowest, low) + waiting_bytes > limit:
                    return False
        return True

    def _unplace(self, level: _SearchLevel) -> None:
        """Undo ``_place``."""
        for a, old in level.floors:
            self.floor[a] = old
        for s, size in self.sections_of[level.block]:
            self.waiting[s] += size
        self.offset[level.block] = -1
        level.block = -1

    def _split(self, members: Sequence[int], low: int, last: int, parent: int) -> tuple[_BlockGroup, ...]:
        """Split ``members``, which are sorted by start, into groups with the given ``low``, ``last`` and ``parent``.
        The smallest group is last and is solved first, because its search takes the fewest nodes."""
        parts: list[list[int]] = []
        end = -1
        for b in members:
            buffer = self.problem.buffers[b]
            if buffer.start >= end:
                parts.append([])
            parts[-1].append(b)
            end = max(end, buffer.end)
        parts.sort(key=len, reverse=True)
        return tuple(_BlockGroup(tuple(part), low, last, parent) for part in parts)

    def _options(self, group: _BlockGroup) -> list[int]:
        """Return the blocks that may be the lowest of the group. The block to try first is last."""
        floor, offset, buffers = self.floor, self.offset, self.problem.buffers
        # Blocks at or above this address would leave a hole into which a block of the group fits completely.
        ceiling = min(floor[b] + buffers[b].size for b in group.members)
        options = []
        for b in group.members:
            if floor[b] < group.low or (floor[b] == group.low and group.last > b):
                continue
            if floor[b] >= ceiling or (
                self.previous_identical[b] >= 0 and offset[self.previous_identical[b]] < 0
            ):
                continue
            options.append(b)
        options.sort(key=lambda b: (-floor[b], buffers[b].end - buffers[b].start, buffers[b].size, b))
        return options


def _sections(buffers: Sequence[Buffer]) -> tuple[list[int], list[list[tuple[int, int]]]]:
    """Return the relevant steps, and for each the (block, size) that live. A step is left out if all its
    blocks live at another step in the same or a larger size."""
    steps = max((b.end for b in buffers), default=0)
    alive: list[dict[int, int]] = [{} for _ in range(steps)]
    for b, buffer in enumerate(buffers):
        for start, end, size in buffer.pieces:
            for t in range(start, end):
                alive[t][b] = size
    selected: list[int] = []
    for t, blocks in enumerate(alive):
        if any(_is_covered(blocks, alive[step]) for step in selected):
            continue
        selected = [step for step in selected if not _is_covered(alive[step], blocks)]
        selected.append(t)
    return selected, [sorted(alive[t].items()) for t in selected]


def _is_covered(blocks: dict[int, int], other: dict[int, int]) -> bool:
    """Return whether every block of ``blocks`` ({block: size}) is in ``other`` in the same or a larger size."""
    return all(other.get(b, 0) >= size for b, size in blocks.items())


def _identical_blocks(buffers: Sequence[Buffer]) -> list[int]:
    """Return, for each block, the previous block with the same pieces, or -1 if there is none. The search places
    identical blocks in their order, the first block lowest."""
    latest: dict[tuple[tuple[int, int, int], ...], int] = {}
    previous = []
    for b, buffer in enumerate(buffers):
        previous.append(latest.get(buffer.pieces, -1))
        latest[buffer.pieces] = b
    return previous
