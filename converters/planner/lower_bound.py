"""Compute lower bounds of the arena.

``live_bound`` is a bound for one order of the operators, ``graph_bound`` a bound for every order that the graph allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arenite.converters.planner.lifetimes import ArenaRequirements, Buffer, in_place_pairs


def live_bytes(buffers: Sequence[Buffer], steps: int) -> list[int]:
    """Return the number of live bytes at each step."""
    change = [0] * (steps + 1)
    for buffer in buffers:
        for start, end, size in buffer.pieces:
            change[start] += size
            change[end] -= size
    total, live = 0, []
    for delta in change[:steps]:
        total += delta
        live.append(total)
    return live


def live_bound(buffers: Sequence[Buffer], steps: int) -> int:
    """Return the largest number of live bytes at any step. It is a lower bound, because blocks that live at the same
    time cannot overlap."""
    return max(live_bytes(buffers, steps), default=0)


def predecessors_and_successors(requirements: ArenaRequirements) -> tuple[dict[int, int], dict[int, int]]:
    """Return two mappings from an operator to a bit set: the operators that must run before it, and the operators that
    must run after it. Bit p stands for ``requirements.ops[p]``."""
    position = {k: p for p, k in enumerate(requirements.ops)}
    ancestors: dict[int, int] = {}
    descendants = dict.fromkeys(requirements.ops, 0)
    for k in requirements.ops:  # the graph's own order is topological
        mask = 0
        for j in requirements.before[k]:
            mask |= ancestors[j] | 1 << position[j]
        ancestors[k] = mask
    for k in reversed(requirements.ops):
        for j in requirements.before[k]:
            descendants[j] |= descendants[k] | 1 << position[k]
    return ancestors, descendants


def graph_bound(requirements: ArenaRequirements, *, in_place: bool = True) -> int:
    """Return a lower bound of the arena for every order: the largest number, over all operators, of bytes that live
    during the operator in every order.

    A value lives during operator k in every order if k reads or computes it, or if it is always computed before k and
    read after k. An output is not counted if it may overwrite an input.
    """
    ancestors, descendants = predecessors_and_successors(requirements)
    position: Mapping[int, int] = {k: p for p, k in enumerate(requirements.ops)}
    readers = [sum(1 << position[k] for k in value.readers) for value in requirements.values]
    fixed = sum(requirements.persistent.values())
    values = requirements.values
    # All inputs live before the first operator, all outputs after the last.
    bound = sum(v.size for v in values if v.writer is None)
    bound = max(bound, sum(v.size for v in values if v.stays))
    for k in requirements.ops:
        live = requirements.scratch.get(k, 0)
        own = {*requirements.inputs_of[k], *requirements.outputs_of[k]}
        for v, value in enumerate(values):
            is_computed = value.writer is None or ancestors[k] >> position[value.writer] & 1
            if v in own or (is_computed and (value.stays or readers[v] & descendants[k])):
                live += value.size
        if in_place:
            dying = {v for v in requirements.inputs_of[k] if not readers[v] & descendants[k]}
            live -= sum(values[pair[3]].size for pair in in_place_pairs(requirements, k, dying))
        bound = max(bound, live)
    return bound + fixed
