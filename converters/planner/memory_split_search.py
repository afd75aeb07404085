"""An exact search that assigns each block of a plan to one of two memories: the preferred memory or the other memory.

Each block has a weight: the cost of having it in the other memory. The search minimizes the sum of the weights of the
blocks in the other memory. The blocks of each memory must fit into its bytes (``offset_search.search_offsets``).

The search is depth first. It decides the heaviest block first, and tries the preferred memory first. A branch is cut if

* the blocks assigned to one memory have more live bytes at some step than the memory has, or
* the lower bound of its weight is not below the weight of the best assignment found. At each step, the live bytes that
  exceed the preferred memory must be in the other memory. At best, these are the bytes with the smallest weight per
  byte (a fractional knapsack). The bounds of several steps add up if no undecided block lives in two of the steps.
  The set of such steps with the largest sum is found from the last step to the first.

The search starts from greedy assignments. If it ends within its budget of nodes, and it is proven for every assignment
that did not fit that it cannot fit, the best assignment is optimal. Otherwise ``bound`` is a proven lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arenite.converters.planner.lifetimes import Buffer
from arenite.converters.planner.offset_search import Placement, search_offsets

#: The budget of the offset search for one set of blocks, in nodes.
PLACE_BUDGET = 400
#: The percentages of the preferred memory that greedy assignments fill. Less than 100 leaves space for holes.
_FILL_PERCENTAGES = (100, 95, 90, 80)
#: The exact search runs for at most this number of blocks. More blocks are assigned greedily.
MAX_SEARCHED_BLOCKS = 300


@dataclass(frozen=True)
class MemoryAssignment:
    """An assignment of blocks to two memories."""

    preferred: tuple[bool, ...]  # for each block, whether it is in the preferred memory
    weight: int  # the sum of the weights of the blocks in the other memory
    bound: int  # a proven lower bound of the weight
    nodes: int  # search nodes used
    inside: Placement  # the offsets of the blocks in the preferred memory, in the order of the blocks
    outside: Placement  # the offsets of the blocks in the other memory, in the order of the blocks


def assign_memories(
    buffers: Sequence[Buffer],
    weights: Sequence[int],
    pinned: Sequence[bool | None],
    limits: tuple[int, int],
    *,
    budget: int,
) -> MemoryAssignment | None:
    """Return the assignment with the smallest weight that a search of ``budget`` nodes finds, or None if it finds no
    assignment that fits.

    ``weights`` (one per block) are not negative. ``pinned`` has True for a block that must be in the preferred memory,
    False for a block that must be in the other memory, and None if both are allowed. ``limits`` are the bytes of the
    preferred and of the other memory.
    """
    search = _Search(buffers, weights, pinned, limits)
    for order in search.greedy_orders():
        search.greedy(order)
    if len(buffers) <= MAX_SEARCHED_BLOCKS:
        search.run(budget)
    if search.best is None:
        return None
    chosen, weight, inside, outside = search.best
    bound = weight if search.complete else min(search.root_bound, weight)
    return MemoryAssignment(chosen, weight, bound, search.nodes, inside, outside)


class _Search:
    """The state of the search. ``side`` says for each block whether it is in the preferred memory (True) or in the
    other memory (False); None means undecided. ``best`` is the best assignment found: (side of each block, weight,
    placement in the preferred memory, placement in the other memory)."""

    def __init__(
        self,
        buffers: Sequence[Buffer],
        weights: Sequence[int],
        pinned: Sequence[bool | None],
        limits: tuple[int, int],
    ) -> None:
        self.buffers, self.weights, self.limits = buffers, weights, limits
        self.pinned = pinned
        self.steps = max((b.end for b in buffers), default=0)
        #: The blocks to decide, in the order of the search: the heaviest first, and the largest first if weights are
        #: equal.
        self.order = sorted(
            (b for b in range(len(buffers)) if pinned[b] is None),
            key=lambda b: (-weights[b], -buffers[b].size, b),
        )
        at: list[list[tuple[int, int]]] = [[] for _ in range(self.steps)]
        for b, buffer in enumerate(buffers):
            for start, end, size in buffer.pieces:
                for t in range(start, end):
                    at[t].append((b, size))
        #: For each step, the (block, bytes) that live, with the smallest weight per byte first.
        self.at = [sorted(live, key=lambda p: (weights[p[0]] / p[1], p[0])) for live in at]
        self.live = [[0] * self.steps, [0] * self.steps]  # live bytes of assigned blocks: preferred, other
        self.side: list[bool | None] = [None] * len(buffers)
        self.best: tuple[tuple[bool, ...], int, Placement, Placement] | None = None
        self.placements: dict[tuple[bool, frozenset[int]], Placement] = {}
        self.nodes, self.complete, self.root_bound = 0, False, 0

    # -- one assignment ------------------------------------------------------------------------------------

    def _place(self, preferred: bool, chosen: Sequence[bool | None]) -> Placement:
        """Return the offsets of the blocks that ``chosen`` puts into the preferred memory, or into the other memory if
        ``preferred`` is false."""
        blocks = [b for b, side in enumerate(chosen) if side is preferred]
        key = (preferred, frozenset(blocks))
        if key not in self.placements:
            self.placements[key] = search_offsets([self.buffers[b] for b in blocks], budget=PLACE_BUDGET)
        return self.placements[key]

    def _finish(self, chosen: Sequence[bool | None]) -> bool:
        """Keep the complete assignment ``chosen`` as the best if it fits and has a smaller weight. Return False if it
        has a smaller weight and it is unknown whether it fits."""
        weight = sum(self.weights[b] for b, side in enumerate(chosen) if side is False)
        if self.best is not None and weight >= self.best[1]:
            return True
        inside, outside = self._place(True, chosen), self._place(False, chosen)
        if inside.arena <= self.limits[0] and outside.arena <= self.limits[1]:
            self.best = (tuple(side is True for side in chosen), weight, inside, outside)
            return True
        return inside.bound > self.limits[0] or outside.bound > self.limits[1]

    # -- greedy --------------------------------------------------------------------------------------------

    def greedy_orders(self) -> list[list[int]]:
        """Return several orders of the blocks to decide, for ``greedy``."""
        weights, buffers = self.weights, self.buffers

        def area(b: int) -> int:
            return sum((end - start) * size for start, end, size in buffers[b].pieces)

        keys: list[Callable[[int], float]] = [
            lambda b: -weights[b] / buffers[b].size,
            lambda b: -weights[b],
            lambda b: -weights[b] / area(b),
            lambda b: buffers[b].size,
        ]
        return [sorted(self.order, key=lambda b, k=key: (k(b), b)) for key in keys]  # type: ignore[misc]

    def greedy(self, order: Sequence[int]) -> None:
        """Put blocks into the preferred memory in the order ``order``, each block if the live bytes then still fit.
        If no offsets are found for the blocks, try again with less space."""
        for percentage in _FILL_PERCENTAGES:
            limit = self.limits[0] * percentage // 100
            live = [0] * self.steps
            chosen = [pin is True for pin in self.pinned]
            for b in [b for b, pin in enumerate(self.pinned) if pin] + [*order]:
                pieces = self.buffers[b].pieces
                fits = all(live[t] + size <= limit for start, end, size in pieces for t in range(start, end))
                chosen[b] = chosen[b] or fits
                if chosen[b]:
                    for start, end, size in pieces:
                        live[start:end] = [n + size for n in live[start:end]]
            weight = sum(w for w, inside in zip(self.weights, chosen, strict=True) if not inside)
            if self.best is not None and weight >= self.best[1]:
                return  # less space only increases the weight
            self._finish(chosen)

    # -- exact ---------------------------------------------------------------------------------------------

    def run(self, budget: int) -> None:
        """Run the exact search with at most ``budget`` nodes."""
        for b, pin in enumerate(self.pinned):
            if pin is not None:
                self._put(b, pin, 1)
        self.root_bound = self._bound()
        self.complete = True
        #: The stack of the search: (depth, memory to try), or (depth, None) to undo the assignment.
        todo: list[tuple[int, bool | None]] = [(0, False), (0, True)]
        spent = sum(self.weights[b] for b, pin in enumerate(self.pinned) if pin is False)
        if not self.order:
            self.complete = self._finish(self.side)
            return
        if not self._fits():
            return
        while todo:
            depth, side = todo.pop()
            b = self.order[depth]
            if side is None:
                tried_side = self.side[b]
                spent -= self.weights[b] if tried_side is False else 0
                self._put(b, tried_side is True, -1)
                continue
            if self.nodes == budget:
                self.complete = False
                # The remaining entries undo the assignments.
                todo = [entry for entry in todo if entry[1] is None]
                continue
            self.nodes += 1
            self._put(b, side, 1)
            spent += self.weights[b] if side is False else 0
            todo.append((depth, None))
            if not self._fits_at(b, side):
                continue
            if self.best is not None and spent + self._bound_of_undecided() >= self.best[1]:
                continue
            if depth + 1 == len(self.order):
                if not self._finish(self.side):
                    self.complete = False
            else:
                todo += [(depth + 1, False), (depth + 1, True)]

    def _put(self, b: int, preferred: bool, sign: int) -> None:
        """Assign block ``b`` to a memory (``sign`` is 1), or undo this assignment (``sign`` is -1)."""
        live = self.live[0 if preferred else 1]
        for start, end, size in self.buffers[b].pieces:
            for t in range(start, end):
                live[t] += sign * size
        self.side[b] = preferred if sign > 0 else None

    def _fits(self) -> bool:
        """Return whether the live bytes of the assigned blocks fit at every step."""
        return all(max(live, default=0) <= limit for live, limit in zip(self.live, self.limits, strict=True))

    def _fits_at(self, b: int, preferred: bool) -> bool:
        """Return whether the live bytes of the assigned blocks fit at the steps at which block ``b`` lives."""
        live, limit = self.live[0 if preferred else 1], self.limits[0 if preferred else 1]
        return all(live[t] <= limit for t in range(self.buffers[b].start, self.buffers[b].end))

    def _bound(self) -> int:
        """Return a lower bound of the weight over all assignments with the pinned blocks in their memories."""
        pinned = sum(self.weights[b] for b, pin in enumerate(self.pinned) if pin is False)
        return pinned + self._bound_of_undecided()

    def _bound_of_undecided(self) -> int:
        """Return a lower bound of the weight of the undecided blocks, over all their assignments."""
        best = [0.0] * (self.steps + 1)
        for t in reversed(range(self.steps)):
            excess = self.live[0][t] - self.limits[0]
            end = t + 1
            undecided = []
            for b, size in self.at[t]:
                if self.side[b] is None:
                    undecided.append((b, size))
                    excess += size
                    end = max(end, self.buffers[b].end)
            weight = 0.0
            for b, size in undecided:
                if excess <= 0:
                    break
                weight += self.weights[b] * min(1.0, excess / size)
                excess -= size
            best[t] = max(best[t + 1], weight + best[min(end, self.steps)])
        # Weights are integers, so the bound is rounded up. The margin 1e-12 allows for rounding errors of the
        # fractions.
        return max(0, -int(-best[0] * (1 - 1e-12) // 1))
