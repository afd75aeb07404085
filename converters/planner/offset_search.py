"""Offsets by exact search.

Any placement can be pushed down until every block is at 0 or on top of another one. Sorted by offset, such a *settled*
placement is a sequence in which every block begins at the lowest address above all earlier ones that it meets in time.
The search goes through these sequences, depth first, for one size of the arena at a time, and cuts those that

* go down again (a settled placement has been sorted by offset), or swap two equal blocks or two at one address;
* leave a hole below the new block into which another waiting block would fit whole: moved down there it gives a
  placement with a smaller sum of offsets, so that some best placement has no such hole;
* cannot end within the arena: at each step of time, waiting blocks must still go above the lowest free address.

When a block has been placed, those that wait often fall into groups that no longer meet in time. Each group is solved
by itself; when one cannot be, the block that split it off is moved, and the groups solved in between are left alone.

Blocks that live throughout go to the bottom first. When the search ends within its budget of nodes, the best placement
is optimal. The method is that of minimalloc (Moffitt, 2023), for blocks whose size may change over time.
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

#: Rounds of improving a simple placement, before the exact search begins.
_ROUNDS = 600


@dataclass(frozen=True)
class Placement:
    offsets: tuple[int, ...]  # one per buffer
    arena: int
    bound: int  # no placement needs less
    live: int  # largest sum of live bytes; ``bound`` is larger when the search has shown so
    nodes: int


def search_offsets(buffers: Sequence[Buffer], *, budget: int) -> Placement:
    """Offsets for ``buffers`` with the smallest arena that a search of ``budget`` nodes finds."""
    offsets = [0] * len(buffers)
    steps = max((b.end for b in buffers), default=0)
    base = 0
    rest = []
    for b, buffer in enumerate(buffers):
        if buffer.pieces == ((0, steps, buffer.size),):
            offsets[b] = base
            base += buffer.size
        else:
            rest.append(b)
    problems = [(part, placement_problem([buffers[b] for b in part])) for part in _separate(buffers, rest)]
    live = max((p.bound for _, p in problems), default=0)
    arena = bound = live
    nodes = 0
    # The tallest group first: the others may use its memory too.
    for part, problem in sorted(problems, key=lambda p: -p[1].bound):
        better, proven, used = solve_offsets(problem, enough=arena, budget=budget - nodes)
        nodes += used
        arena, bound = max(arena, problem.top(better)), max(bound, proven)
        for b, offset in zip(part, better, strict=True):
            offsets[b] = base + offset
    return Placement(tuple(offsets), base + arena, base + bound, base + live, nodes)


def _separate(buffers: Sequence[Buffer], members: Sequence[int]) -> list[list[int]]:
    """Groups of blocks whose times do not touch."""
    groups: list[list[int]] = []
    end = 0
    for b in sorted(members, key=lambda b: buffers[b].start):
        if not groups or buffers[b].start >= end:
            groups.append([])
        groups[-1].append(b)
        end = max(end, buffers[b].end)
    return groups


def solve_offsets(problem: PlacementProblem, *, enough: int, budget: int) -> tuple[list[int], int, int]:
    """(offsets, proven lower bound, nodes). An arena of ``enough`` bytes is as good as a smaller one."""
    best = first_fit_in_several_orders(problem)
    if problem.top(best) > max(enough, problem.bound):
        best = min(best, hill_climb(problem, best, min(_ROUNDS, budget)), key=problem.top)
    unit = math.gcd(*(size for b in problem.buffers for _, _, size in b.pieces))
    low = problem.bound  # no arena below this
    limit = max(enough, low) // unit * unit  # the smallest arena first: usually it is possible
    open_below = low  # arenas below this have been given up
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
    """A group of waiting blocks that meet in time, directly or through each other, by start."""

    members: tuple[int, ...]
    low: int  # no block of the group goes below this
    last: int  # the block placed there, which split the group off; -1 for none
    parent: int  # the depth at which that was; -1 for none


@dataclass
class _SearchLevel:
    """A depth of the search: the group that is being solved, and the untried candidates for its lowest block."""

    group: _BlockGroup
    others: tuple[_BlockGroup, ...]  # to be solved afterwards
    options: list[int]
    block: int = -1  # the one placed now
    floors: list[tuple[int, int]] = field(default_factory=list)  # the values that it changed


class _Search:
    """Depth-first search for one arena size at a time; ``nodes`` counts the blocks placed in all of them."""

    def __init__(self, problem: PlacementProblem) -> None:
        self.problem = problem
        self.nodes, self.exhausted = 0, False
        self.n = len(problem.buffers)
        self.twin = _identical_blocks(problem.buffers)
        self.steps, self.sections = _sections(problem.buffers)
        self.at: list[list[tuple[int, int]]] = [[] for _ in range(self.n)]
        for s, section in enumerate(self.sections):
            for b, size in section:
                self.at[b].append((s, size))
        self.floor: list[int] = []  # lowest address above every placed neighbour
        self.offset: list[int] = []
        self.waiting: list[int] = []  # bytes per section

    def run(self, limit: int, budget: int) -> list[int] | None:
        """A placement of at most ``limit`` bytes; None when there is none (``exhausted``), or none was found before
        ``nodes`` reached ``budget``."""
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
                    self._lift(level)
                if not level.options:
                    # The block that split the group off is the reason, and only through it the rest below.
                    while len(levels) > level.group.parent + 1:
                        if levels[-1].block >= 0:
                            self._lift(levels[-1])
                        levels.pop()
                    if not levels:
                        self.exhausted = True
                        return None
                    continue
                if self.nodes >= budget:
                    return None
                self.nodes += 1
                if self._drop(level, level.options.pop(), limit):
                    rest = [b for b in level.group.members if b != level.block]
                    low = self.offset[level.block]
                    pending = level.others + self._split(rest, low, level.block, len(levels) - 1)
                    break
        return list(self.offset)

    def _drop(self, level: _SearchLevel, b: int, limit: int) -> bool:
        """Place ``b`` on its floor; False when the rest of its group cannot end within ``limit``."""
        gap, buffers = self.problem.gap, self.problem.buffers
        level.block, level.floors = b, []
        low = self.offset[b] = self.floor[b]
        for a in self.problem.neighbours[b]:
            high = low + gap[b][a]
            if self.offset[a] < 0 and self.floor[a] < high:
                level.floors.append((a, self.floor[a]))
                self.floor[a] = high
        for s, size in self.at[b]:
            self.waiting[s] -= size
        if low + buffers[b].size > limit:
            return False
        members = level.group.members
        first = bisect_left(self.steps, buffers[members[0]].start)
        last = bisect_left(self.steps, max(buffers[m].end for m in members))
        for s in range(first, last):
            left = self.waiting[s]
            if left:
                lowest = min(self.floor[m] for m, _ in self.sections[s] if self.offset[m] < 0)
                if max(lowest, low) + left > limit:
                    return False
        return True

    def _lift(self, level: _SearchLevel) -> None:
        """Undo ``_drop``."""
        for a, old in level.floors:
            self.floor[a] = old
        for s, size in self.at[level.block]:
            self.waiting[s] += size
        self.offset[level.block] = -1
        level.block = -1

    def _split(self, members: Sequence[int], low: int, last: int, parent: int) -> tuple[_BlockGroup, ...]:
        """``members``, by start, as groups; the smallest last, which is solved first: if it fails, it fails early."""
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
        """The blocks that may be the lowest of the group, the best one last."""
        floor, offset, buffers = self.floor, self.offset, self.problem.buffers
        # A block that would end at or below this must not be skipped.
        ceiling = min(floor[b] + buffers[b].size for b in group.members)
        options = []
        for b in group.members:
            if floor[b] < group.low or (floor[b] == group.low and group.last > b):
                continue
            if floor[b] >= ceiling or (self.twin[b] >= 0 and offset[self.twin[b]] < 0):
                continue
            options.append(b)
        options.sort(key=lambda b: (-floor[b], buffers[b].end - buffers[b].start, buffers[b].size, b))
        return options


def _sections(buffers: Sequence[Buffer]) -> tuple[list[int], list[list[tuple[int, int]]]]:
    """Steps and the (block, size) live there, without the steps that another one covers with blocks as large."""
    steps = max((b.end for b in buffers), default=0)
    alive: list[dict[int, int]] = [{} for _ in range(steps)]
    for b, buffer in enumerate(buffers):
        for start, end, size in buffer.pieces:
            for t in range(start, end):
                alive[t][b] = size
    kept: list[int] = []
    for t, here in enumerate(alive):
        if any(_within(here, alive[other]) for other in kept):
            continue
        kept = [other for other in kept if not _within(alive[other], here)]
        kept.append(t)
    return kept, [sorted(alive[t].items()) for t in kept]


def _within(here: dict[int, int], other: dict[int, int]) -> bool:
    return all(other.get(b, 0) >= size for b, size in here.items())


def _identical_blocks(buffers: Sequence[Buffer]) -> list[int]:
    """For each block the previous one with the same times and sizes, or -1: of equals, the first goes lowest."""
    seen: dict[tuple[tuple[int, int, int], ...], int] = {}
    twins = []
    for b, buffer in enumerate(buffers):
        twins.append(seen.get(buffer.pieces, -1))
        seen[buffer.pieces] = b
    return twins
