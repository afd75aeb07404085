"""Find the topological order of the operators with the smallest peak of live bytes.

A state is the set of operators that have run. The live bytes after a state do not depend on the order in which its
operators ran. So this is a shortest-path problem in which the length of a path is the maximum, not the sum, of its
steps. It is solved by a best-first search. No search is needed if the lower bound ``graph_bound`` shows that no order
is better than the graph's own order, as in chains of operators. Operators that use the same variable keep their
order. If no order is better, the graph's own order is returned.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from arenite.converters.planner.lifetimes import ArenaRequirements, in_place_pairs
from arenite.converters.planner.lower_bound import graph_bound

#: The number of states per level of the beam search, which runs if the exact search reaches its budget.
_BEAM = 32


@dataclass(frozen=True)
class OrderResult:
    """The result of the search for an order. ``peak`` and ``bound`` are in bytes."""

    order: tuple[int, ...]
    peak: int  # largest sum of live bytes of ``order``
    bound: int  # a proven lower bound of the peak of every order
    nodes: int  # states expanded by the exact search

    @property
    def proven(self) -> bool:
        """Whether it is proven that no order has a smaller peak."""
        return self.peak == self.bound


class _Costs:
    """Computes the live bytes of states. A state is a bit set; bit p stands for ``requirements.ops[p]``. ``in_place``
    says whether outputs may overwrite inputs."""

    def __init__(self, requirements: ArenaRequirements, in_place: bool) -> None:
        self.requirements, self.in_place = requirements, in_place
        self.position = {k: p for p, k in enumerate(requirements.ops)}
        bits = {k: 1 << p for k, p in self.position.items()}
        self.readers = [sum(bits[k] for k in v.readers) for v in requirements.values]
        self.before = [sum(bits[j] for j in requirements.before[k]) for k in requirements.ops]
        #: The bytes of the resource variables, which live during all steps.
        self.fixed = sum(requirements.persistent.values())
        inputs = [v for v, value in enumerate(requirements.values) if value.writer is None]
        #: The bytes of all graph inputs, which live before the first step.
        self.start = sum(requirements.values[v].size for v in inputs)
        #: The bytes of graph inputs that no operator reads. They live during the first step only.
        self.unread = sum(requirements.values[v].size for v in inputs if self.is_dead(v, 0))

    def is_dead(self, value: int, state: int) -> bool:
        """Return whether a value is not needed after ``state``, because all its readers have run."""
        return not self.requirements.values[value].stays and not self.readers[value] & ~state

    def ready(self, state: int) -> Iterator[int]:
        """Yield the positions of the operators that can run after ``state``."""
        for p, before in enumerate(self.before):
            if not state >> p & 1 and not before & ~state:
                yield p

    def step(self, state: int, live: int, p: int) -> tuple[int, int]:
        """Return the live bytes while the operator at position ``p`` runs after ``state``, and the live bytes after it.

        ``live`` is the number of live bytes before it. The first result includes the resource variables, the second and
        ``live`` do not.
        """
        requirements, k, after_state = self.requirements, self.requirements.ops[p], state | 1 << p
        dying = [v for v in requirements.inputs_of[k] if self.is_dead(v, after_state)]
        fresh = sum(requirements.values[v].size for v in requirements.outputs_of[k])
        saved = 0
        if self.in_place and dying and requirements.in_place[k]:
            saved = sum(requirements.values[pair[3]].size for pair in in_place_pairs(requirements, k, dying))
        during = live + fresh - saved + requirements.scratch.get(k, 0)
        unread = sum(
            requirements.values[v].size for v in requirements.outputs_of[k] if self.is_dead(v, after_state)
        )
        after = live + fresh - unread - sum(requirements.values[v].size for v in dying)
        return during + self.fixed, after - (0 if state else self.unread)

    def bytes_without_unread_inputs(self, state: int, live: int) -> int:
        """Return the live bytes ``live`` of ``state`` without the unread inputs, which live only until the first
        operator has run."""
        return live if state else live - self.unread

    def peak(self, order: tuple[int, ...]) -> int:
        """Return the largest number of live bytes at any step of ``order``."""
        peak, state, live = self.start + self.fixed, 0, self.start
        for k in order:
            during, live = self.step(state, live, self.position[k])
            peak, state = max(peak, during), state | 1 << self.position[k]
        return peak


def best_order(requirements: ArenaRequirements, *, budget: int, in_place: bool = True) -> OrderResult:
    """Return the best order that an exact search of at most ``budget`` states finds.

    If the budget is not enough, a beam search follows. ``OrderResult.bound`` is then the bound that the exact search
    has proven. ``in_place`` says whether outputs may overwrite inputs.
    """
    costs = _Costs(requirements, in_place)
    own_peak = costs.peak(requirements.ops)
    bound = graph_bound(requirements, in_place=in_place)
    if own_peak == bound:
        return OrderResult(requirements.ops, own_peak, bound, 0)
    order, bound, nodes = _best_first(costs, own_peak, bound, budget)
    if order is None:
        peak = own_peak
        while bound < peak and (better := _beam(costs, peak)) is not None:
            order, peak = better, costs.peak(better)
    if order is None:
        return OrderResult(requirements.ops, own_peak, bound, nodes)
    return OrderResult(order, costs.peak(order), bound, nodes)


def _best_first(
    costs: _Costs, limit: int, bound: int, budget: int
) -> tuple[tuple[int, ...] | None, int, int]:
    """Return the best order with a peak below ``limit`` bytes, or None if there is none or ``budget`` states were
    expanded; a proven lower bound of all peaks; and the number of expanded states. ``bound`` is a known lower bound."""
    full = (1 << len(costs.requirements.ops)) - 1
    first = max(costs.start + costs.fixed, bound)
    # If peaks are equal, deeper states come first, then states that were found earlier, which follow the graph's order.
    # An entry is (peak, -depth, number of the entry, state, live bytes after the state).
    heap: list[tuple[int, int, int, int, int]] = [(first, 0, 0, 0, costs.start)]
    previous: dict[int, tuple[int, int]] = {}
    best = {0: first}
    done: set[int] = set()
    nodes = pushed = 0
    while heap:
        peak, depth, _, state, live = heapq.heappop(heap)
        if state in done:
            continue
        if state == full:
            return _path(costs, previous, state), peak, nodes
        if nodes == budget:
            return None, peak, nodes
        done.add(state)
        nodes += 1
        moves = [(p, *costs.step(state, live, p)) for p in costs.ready(state)]
        # An operator that stays below the peak and leaves no more live bytes than before can run first: in any
        # completion, running it earlier only lowers the live bytes up to its old position.
        free = [m for m in moves if m[1] <= peak and m[2] <= costs.bytes_without_unread_inputs(state, live)]
        for p, during, after in free[:1] or moves:
            new, high = state | 1 << p, max(peak, during)
            if high < limit and high < best.get(new, limit):
                best[new], previous[new] = high, (state, p)
                pushed += 1
                heapq.heappush(heap, (high, depth - 1, pushed, new, after))
    return None, limit, nodes


def _path(costs: _Costs, previous: dict[int, tuple[int, int]], state: int) -> tuple[int, ...]:
    """Return the operators in the order in which they lead to ``state``. ``previous`` maps a state to the state
    before it and the position of the operator that ran."""
    order = []
    while state:
        state, p = previous[state]
        order.append(costs.requirements.ops[p])
    return tuple(reversed(order))


def _beam(costs: _Costs, limit: int) -> tuple[int, ...] | None:
    """Return an order with a peak below ``limit`` bytes that a beam search finds, or None. Each level keeps the
    ``_BEAM`` states with the fewest live bytes among the states whose peak is below the limit."""
    level: list[tuple[int, int, tuple[int, ...]]] = [(costs.start, 0, ())]  # live, state, path of positions
    while level and len(level[0][2]) < len(costs.requirements.ops):
        states: dict[int, tuple[int, int, tuple[int, ...]]] = {}
        for live, state, path in level:
            moves = [(p, *costs.step(state, live, p)) for p in costs.ready(state)]
            moves = [m for m in moves if m[1] < limit]
            free = [m for m in moves if m[2] <= costs.bytes_without_unread_inputs(state, live)]
            for p, _, after in free[:1] or moves:
                states.setdefault(state | 1 << p, (after, state | 1 << p, (*path, p)))
        level = sorted(states.values())[:_BEAM]
    return tuple(costs.requirements.ops[p] for p in level[0][2]) if level else None
