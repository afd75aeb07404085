"""Offsets by exact search.

Any placement can be pushed down until every block lies at 0 or on another one. Sorted by offset, such a *settled*
placement is a sequence in which every block begins at the lowest address above all earlier ones that it meets in time.
The search goes through these sequences, depth first, and cuts those that

* go down again (a settled placement has been sorted by offset), or swap two equal blocks or two at one address;
* leave a hole below the new block into which another waiting block would fit whole: moved down there it gives a
  placement with a smaller sum of offsets, so that some best placement has no such hole;
* cannot end below the best arena known: at each step of time, what waits must still go above the lowest place left.

Blocks that live throughout go to the bottom first, and blocks that never meet in time, even through others, are
separate problems. When the search ends within its budget of nodes, the best placement is optimal. The method is that of
minimalloc (Moffitt, 2023), for blocks whose size may change over time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from arenite.converters.planner.lifetimes import Buffer
from arenite.converters.planner.offsets import Layout, layout, quick


@dataclass(frozen=True)
class Placement:
    offsets: tuple[int, ...]  # one per buffer
    arena: int
    bound: int  # no placement needs less
    live: int  # largest sum of live bytes; ``bound`` is larger when the search has shown so
    nodes: int


def place(buffers: Sequence[Buffer], *, budget: int) -> Placement:
    """Offsets for ``buffers`` with the smallest arena that ``budget`` nodes of search can find."""
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
    problems = [(part, layout([buffers[b] for b in part])) for part in _separate(buffers, rest)]
    live = max((p.bound for _, p in problems), default=0)
    arena = bound = live
    nodes = 0
    # The tallest first: what it needs, the others may use too.
    for part, problem in sorted(problems, key=lambda p: -p[1].bound):
        found, proven, used = solve(problem, enough=arena, budget=budget - nodes)
        nodes += used
        arena, bound = max(arena, problem.top(found)), max(bound, proven)
        for b, offset in zip(part, found, strict=True):
            offsets[b] = base + offset
    return Placement(tuple(offsets), base + arena, base + bound, base + live, nodes)


def _separate(buffers: Sequence[Buffer], which: Sequence[int]) -> list[list[int]]:
    """Groups of blocks whose times do not touch."""
    groups: list[list[int]] = []
    end = 0
    for b in sorted(which, key=lambda b: buffers[b].start):
        if not groups or buffers[b].start >= end:
            groups.append([])
        groups[-1].append(b)
        end = max(end, buffers[b].end)
    return groups


def solve(problem: Layout, *, enough: int, budget: int) -> tuple[list[int], int, int]:
    """(offsets, proven lower bound, nodes). An arena of ``enough`` bytes is as good as a smaller one."""
    best = quick(problem)
    goal = max(enough, problem.bound)
    if problem.top(best) <= goal or budget <= 0:
        return best, problem.bound, 0
    unit = math.gcd(*(size for b in problem.buffers for _, _, size in b.pieces))
    # The hardest question first: is there one at the bound? Mostly there is, and a tight limit cuts most.
    search = _Search(problem, unit)
    found = search.run(goal, goal, budget // 2)
    if found is not None:
        return found, problem.bound, search.nodes
    bound = (goal // unit + 1) * unit if search.exhausted else problem.bound
    nodes = search.nodes
    if problem.top(best) <= bound:
        return best, bound, nodes
    search = _Search(problem, unit)
    found = search.run(problem.top(best) - unit, max(goal, bound), budget - nodes)
    best = found if found is not None else best
    if search.exhausted or problem.top(best) <= bound:
        bound = max(bound, problem.top(best))
    return best, bound, nodes + search.nodes


class _Search:
    """One depth-first search. After ``run``: ``nodes`` tried, ``exhausted`` when nothing was left out."""

    def __init__(self, problem: Layout, unit: int) -> None:
        self.problem, self.unit = problem, unit
        self.nodes, self.exhausted = 0, False
        self.n = len(problem.buffers)
        self.sections = _sections(problem.buffers)
        self.at: list[list[tuple[int, int]]] = [[] for _ in range(self.n)]
        for s, section in enumerate(self.sections):
            for b, size in section:
                self.at[b].append((s, size))
        self.twin = _twins(problem.buffers)

    def run(self, limit: int, goal: int, budget: int) -> list[int] | None:
        """The best placement of at most ``limit`` bytes, or None; ends at once with one of at most ``goal``."""
        gap, neighbours, buffers = self.problem.gap, self.problem.neighbours, self.problem.buffers
        floor = [0] * self.n  # lowest address above every placed neighbour
        offset = [-1] * self.n
        waiting = [sum(size for _, size in section) for section in self.sections]
        best: list[int] | None = None
        path: list[tuple[int, list[tuple[int, int]]]] = []  # placed block, floors before it
        options = [self._options(offset, floor, waiting, -1, limit)]
        while options:
            if not options[-1]:
                options.pop()
                if path:
                    b, before = path.pop()
                    offset[b] = -1
                    for s, size in self.at[b]:
                        waiting[s] += size
                    for a, old in before:
                        floor[a] = old
                continue
            b = options[-1].pop()
            if floor[b] + buffers[b].size > limit:
                continue
            if self.nodes >= budget:
                return best
            self.nodes += 1
            offset[b] = floor[b]
            before = []
            for a in neighbours[b]:
                high = offset[b] + gap[b][a]
                if offset[a] < 0 and floor[a] < high:
                    before.append((a, floor[a]))
                    floor[a] = high
            for s, size in self.at[b]:
                waiting[s] -= size
            path.append((b, before))
            if len(path) == self.n:
                best = list(offset)
                top = self.problem.top(best)
                if top <= goal:
                    self.exhausted = top <= self.problem.bound
                    return best
                limit = top - self.unit
                options.append([])
            else:
                options.append(self._options(offset, floor, waiting, b, limit))
        self.exhausted = True
        return best

    def _options(
        self, offset: list[int], floor: list[int], waiting: list[int], last: int, limit: int
    ) -> list[int]:
        """The blocks to try next, best one last; none when the limit is out of reach."""
        low = offset[last] if last >= 0 else 0
        for section, left in zip(self.sections, waiting, strict=True):
            if left:
                lowest = min(floor[b] for b, _ in section if offset[b] < 0)
                if max(lowest, low) + left > limit:
                    return []
        buffers = self.problem.buffers
        open_blocks = [b for b in range(self.n) if offset[b] < 0]
        # A waiting block that would end at or below ``ceiling`` must not be passed over.
        ceiling = min(floor[b] + buffers[b].size for b in open_blocks)
        found = []
        for b in open_blocks:
            if floor[b] < low or (floor[b] == low and last > b):
                continue
            if floor[b] >= ceiling or (self.twin[b] >= 0 and offset[self.twin[b]] < 0):
                continue
            found.append(b)
        found.sort(key=lambda b: (-floor[b], buffers[b].size, buffers[b].end - buffers[b].start, b))
        return found


def _sections(buffers: Sequence[Buffer]) -> list[list[tuple[int, int]]]:
    """(block, size) of the blocks alive, at the steps where no other step has them all as large."""
    steps = max((b.end for b in buffers), default=0)
    alive: list[dict[int, int]] = [{} for _ in range(steps)]
    for b, buffer in enumerate(buffers):
        for start, end, size in buffer.pieces:
            for t in range(start, end):
                alive[t][b] = size
    kept: list[dict[int, int]] = []
    for here in alive:
        if any(_within(here, other) for other in kept):
            continue
        kept = [other for other in kept if not _within(other, here)]
        kept.append(here)
    return [sorted(here.items()) for here in kept]


def _within(here: dict[int, int], other: dict[int, int]) -> bool:
    return all(other.get(b, 0) >= size for b, size in here.items())


def _twins(buffers: Sequence[Buffer]) -> list[int]:
    """For each block the previous one with the same times and sizes, or -1: of equals, the first goes lowest."""
    seen: dict[tuple[tuple[int, int, int], ...], int] = {}
    twins = []
    for b, buffer in enumerate(buffers):
        twins.append(seen.get(buffer.pieces, -1))
        seen[buffer.pieces] = b
    return twins
