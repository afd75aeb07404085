"""Find the copies of an operator in a repeated body. They need the same types and scales to become a loop."""

from __future__ import annotations

from collections.abc import Mapping

from arenite.converters.graph.model import Subgraph
from arenite.converters.passes.loops.repeated_body import find_repeated_bodies


def copies_by_operator(graph: Subgraph) -> Mapping[int, tuple[int, ...]]:
    """Return {operator of ``graph``: its copies, including itself, in the order of their steps}. An operator that is
    not repeated has one copy."""
    copies: dict[int, tuple[int, ...]] = {op.index: (op.index,) for op in graph.ops}
    for body in find_repeated_bodies(graph):
        for lane in body.lanes:
            copies |= dict.fromkeys(lane, lane)
    return copies
