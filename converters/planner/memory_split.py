"""Plan an arena over two memories, with the most accessed tensors in the faster memory.

The operators run in the order of a plan for one memory. Every block (tensors that share an address, or a
variable) is assigned to one of the memories, so that the blocks of each memory fit and the estimated number of loads
and stores in the slower memory is as small as possible (``memory_split_search``). Within each memory the offsets are
planned as for one memory. The result is a ``Plan`` whose addresses continue from the first memory into the second. Its
``MemorySplit`` has the boundary. Scratch is always in the first memory, where the stack is, because kernels access it
most often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from arenite.converters.graph.model import Subgraph
from arenite.converters.planner.lifetimes import (
    ArenaRequirements,
    Buffer,
    arena_addresses,
    arena_requirements,
    lifetimes,
)
from arenite.converters.planner.lower_bound import live_bound
from arenite.converters.planner.memory_split_search import MemoryAssignment, assign_memories
from arenite.converters.planner.plan import ALIGNMENT, MemorySplit, Plan, SearchStatistics
from arenite.converters.planner.requirements import OpRequirements

#: The maximum number of search nodes for each entry of ``_VARIANTS``.
BUDGET = 4000

#: Variants of plans: (whether outputs overwrite inputs, whether the last of several possible inputs is preferred).
#: Values that overwrite each other are in the same memory.
_VARIANTS = ((True, False), (True, True), (False, False))


@dataclass(frozen=True)
class AccessCounts:
    """The estimated number of loads and stores in one inference, by tensor and by name of resource variable. Scratch is
    not counted, because it is always in the first memory."""

    tensors: Mapping[int, int]
    variables: Mapping[str, int] = field(default_factory=dict)


def plan_split(
    graph: Subgraph,
    needs: Sequence[OpRequirements],
    order: Sequence[int],
    accesses: AccessCounts,
    limits: tuple[int, int],
    *,
    persistent: Mapping[str, int] | None = None,
    preferred_slow: bool = False,
    placed: Mapping[int, bool] | None = None,
    alignment: int = ALIGNMENT,
    budget: int = BUDGET,
) -> Plan | None:
    """Return the plan with the fewest accesses in the slower memory that the search finds, or None if it finds no plan
    that fits.

    Args:
        graph: The graph to plan.
        needs: The memory requirements of each operator.
        order: The operators that run, in the order of a plan for one memory.
        accesses: The estimated loads and stores.
        limits: The number of bytes that the arena may take in the first and in the second memory.
        persistent: The bytes of each resource variable by name.
        preferred_slow: Whether the second memory is the faster memory.
        placed: The tensors whose memory is fixed. True means the first memory, False the second. If several tensors of
            a block are in ``placed``, the first tensor of the block decides.
        alignment: The alignment of every block, in bytes.
        budget: The maximum number of search nodes. Because nodes are counted and not seconds, equal arguments give
            equal plans on every machine.

    Raises:
        PlanError: The graph cannot be planned.
    """
    requirements = arena_requirements(graph, needs, alignment=alignment, persistent=persistent)
    usable = tuple(limit // alignment * alignment for limit in limits)
    best: tuple[MemoryAssignment, list[Buffer], tuple[tuple[int, int, int], ...]] | None = None
    bound, nodes = None, 0
    tried: list[list[Buffer]] = []
    for overwrite, prefer_last in _VARIANTS:
        buffers, pairs = lifetimes(requirements, order, in_place=overwrite, prefer_last=prefer_last)
        if buffers in tried:
            continue
        tried.append(buffers)
        weights = [_weight(requirements, b, accesses) for b in buffers]
        fixed = [_fixed_memory(requirements, b, placed or {}) for b in buffers]
        pinned = [None if is_first is None else is_first != preferred_slow for is_first in fixed]
        memory_limits = (usable[1], usable[0]) if preferred_slow else (usable[0], usable[1])
        assignment = assign_memories(buffers, weights, pinned, memory_limits, budget=budget)
        if assignment is None:
            continue
        nodes += assignment.nodes
        bound = assignment.bound if bound is None else min(bound, assignment.bound)
        if best is None or assignment.weight < best[0].weight:
            best = assignment, buffers, pairs
        if assignment.weight == 0:
            break
    if best is None:
        return None
    return _plan(requirements, order, best, bound or 0, preferred_slow, alignment, (nodes, budget))


def _fixed_memory(requirements: ArenaRequirements, buffer: Buffer, placed: Mapping[int, bool]) -> bool | None:
    """Return True if a block must be in the first memory, False if it must be in the second, and None if both are
    allowed."""
    if buffer.scratch is not None:
        return True
    tensors = (t for v in buffer.values for t in requirements.values[v].tensors)
    return next((placed[t] for t in tensors if t in placed), None)


def _weight(requirements: ArenaRequirements, buffer: Buffer, accesses: AccessCounts) -> int:
    """Return the number of accesses to all tensors of the block, or to its variable and the tensors that are read from
    it in place."""
    total = sum(accesses.tensors.get(t, 0) for v in buffer.values for t in requirements.values[v].tensors)
    if buffer.variable is not None:
        total += accesses.variables.get(buffer.variable, 0)
        total += sum(
            accesses.tensors.get(t, 0) for t, name in requirements.views.items() if name == buffer.variable
        )
    return total


def _plan(
    requirements: ArenaRequirements,
    order: Sequence[int],
    best: tuple[MemoryAssignment, list[Buffer], tuple[tuple[int, int, int], ...]],
    bound: int,
    preferred_slow: bool,
    alignment: int,
    spent: tuple[int, int],
) -> Plan:
    """Return the plan for the best assignment.

    ``best`` has the assignment, the blocks, and the (operator, input position, output position) of outputs that
    overwrite inputs. ``bound`` is the proven lower bound of the accesses. ``spent`` has the used and the allowed
    search nodes.
    """
    split, buffers, pairs = best
    first, second = (split.outside, split.inside) if preferred_slow else (split.inside, split.outside)
    first_offsets, second_offsets = iter(first.offsets), iter(second.offsets)
    addresses = [
        first.arena + next(second_offsets) if preferred == preferred_slow else next(first_offsets)
        for preferred in split.preferred
    ]
    offsets, scratch, variables = arena_addresses(requirements, buffers, addresses)
    arena = first.arena + second.arena
    live = live_bound(buffers, max(len(order), 1))
    return Plan(
        order=tuple(order),
        offsets=offsets,
        scratch_offsets=scratch,
        variable_offsets=variables,
        arena_bytes=arena,
        lower_bound=live,
        status="optimal" if arena == live else "gap",
        alignment=alignment,
        sharing=tuple(sorted(pairs + requirements.aliases)),
        statistics=SearchStatistics(offset_nodes=spent[0], offset_budget=spent[1], live_bound=live),
        split=MemorySplit(
            fast_bytes=first.arena,
            accesses=split.weight,
            bound=min(bound, split.weight),
            status="optimal" if bound == split.weight else "gap",
            preferred_slow=preferred_slow,
        ),
    )
