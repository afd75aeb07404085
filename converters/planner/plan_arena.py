"""Compute a plan: the order of the operators, the tensors that share an address, and the offsets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from arenite.converters.graph.model import Subgraph
from arenite.converters.planner.lifetimes import (
    ArenaRequirements,
    Buffer,
    arena_addresses,
    arena_requirements,
    lifetimes,
)
from arenite.converters.planner.lower_bound import graph_bound, live_bound
from arenite.converters.planner.offset_search import Placement, search_offsets
from arenite.converters.planner.operator_order import best_order
from arenite.converters.planner.plan import ALIGNMENT, Plan, SearchStatistics
from arenite.converters.planner.requirements import OpRequirements

#: The default budgets: the states that the order search expands, and the blocks that the offset search places for all
#: orders and ``_VARIANTS`` together.
ORDER_BUDGET = 10000
OFFSET_BUDGET = 12000

#: Variants of plans: (whether outputs overwrite inputs, whether the last of several possible inputs is
#: preferred). Overwriting lowers the sum of live bytes, but ties values to one address, which can leave holes. So
#: the variants are tried until one meets the bound.
_VARIANTS = ((True, False), (True, True), (False, False))


def plan(
    graph: Subgraph,
    needs: Sequence[OpRequirements],
    *,
    alignment: int = ALIGNMENT,
    persistent: Mapping[str, int] | None = None,
    folded: Collection[int] = (),
    reorder: bool = True,
    in_place: bool = True,
    alias: bool = True,
    order_budget: int = ORDER_BUDGET,
    offset_budget: int = OFFSET_BUDGET,
) -> Plan:
    """Return the plan with the smallest arena that the search finds for ``graph``, with a lower bound of the arena.

    ``needs`` has the memory requirements of each operator. ``persistent`` has the bytes of each resource variable by
    name. ``folded`` are operators that do not run because their outputs are constants. ``alignment`` is the alignment
    of every block in bytes. Three optimizations can be forbidden: ``reorder`` changes the order of operators,
    ``in_place`` lets outputs overwrite inputs, and ``alias`` gives equal bytes of an input and an output one address.
    Budgets count search nodes, so that equal arguments give equal plans on every machine.

    Raises ``PlanError`` for a graph that cannot be planned.
    """
    requirements = arena_requirements(
        graph, needs, alignment=alignment, persistent=persistent, folded=folded, alias=alias
    )
    orders = [requirements.ops]
    nodes, bound = 0, graph_bound(requirements, in_place=in_place)
    if reorder:
        result = best_order(requirements, budget=order_budget, in_place=in_place)
        nodes, bound = result.nodes, result.bound
        if result.order != requirements.ops:
            orders.insert(0, result.order)
    best, offset_nodes = _best_candidate(requirements, orders, in_place, bound, offset_budget)
    buffers, _ = lifetimes(requirements, best.order, in_place=in_place)
    offsets, scratch, variables = arena_addresses(requirements, best.buffers, best.placement.offsets)
    return Plan(
        order=best.order,
        offsets=offsets,
        scratch_offsets=scratch,
        variable_offsets=variables,
        arena_bytes=best.placement.arena,
        lower_bound=best.placement.bound,
        status="optimal" if best.placement.arena == best.placement.bound else "gap",
        alignment=alignment,
        order_proven=live_bound(buffers, max(len(best.order), 1)) == bound,
        sharing=tuple(sorted(best.pairs + requirements.aliases)),
        statistics=SearchStatistics(
            order_nodes=nodes,
            order_budget=order_budget if reorder else 0,
            offset_nodes=offset_nodes,
            offset_budget=offset_budget,
            live_bound=best.placement.live,
            graph_bound=bound,
        ),
    )


@dataclass(frozen=True)
class _Candidate:
    """One possible plan."""

    order: tuple[int, ...]
    buffers: list[Buffer]
    #: (operator, input position, output position) of overwritten inputs.
    pairs: tuple[tuple[int, int, int], ...]
    placement: Placement


def _best_candidate(
    requirements: ArenaRequirements,
    orders: Sequence[tuple[int, ...]],
    in_place: bool,
    bound: int,
    budget: int,
) -> tuple[_Candidate, int]:
    """Return the candidate with the smallest arena over all orders and ``_VARIANTS``, and the number of search nodes
    used. If arenas are equal, the first candidate is returned. The search stops at an arena of ``bound`` bytes."""
    best: _Candidate | None = None
    nodes = 0
    for order in orders:
        for overwrite, prefer_last in _VARIANTS:
            if overwrite and not in_place:
                continue
            buffers, pairs = lifetimes(requirements, order, in_place=overwrite, prefer_last=prefer_last)
            if best is not None and live_bound(buffers, max(len(order), 1)) >= best.placement.arena:
                continue
            placement = search_offsets(buffers, budget=(budget - nodes + 1) // 2)
            nodes += placement.nodes
            if best is None or placement.arena < best.placement.arena:
                best = _Candidate(order, buffers, pairs, placement)
            if best.placement.arena <= bound:
                return best, nodes
    assert best is not None  # there is at least one order, and the last variant is always allowed
    return best, nodes
