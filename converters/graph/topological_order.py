"""Sort the nodes of a graph so that each comes after the nodes on which it depends."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence


def topological_order(before: Sequence[Collection[int]], priority: Sequence[int]) -> list[int]:
    """Return the nodes 0 to ``len(before) - 1`` in an order in which each comes after the nodes ``before[node]``
    (Kahn's algorithm). No collection in ``before`` has the same node twice.

    Where that leaves a choice, the node with the smallest ``(priority[node], node)`` comes first. Nodes of a cycle, and
    nodes that depend on one, are left out.
    """
    after: list[list[int]] = [[] for _ in before]
    waiting = [len(nodes) for nodes in before]
    for node, nodes in enumerate(before):
        for earlier in nodes:
            after[earlier].append(node)
    ready = [(priority[node], node) for node, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, node = heapq.heappop(ready)
        order.append(node)
        for later in after[node]:
            waiting[later] -= 1
            if not waiting[later]:
                heapq.heappush(ready, (priority[later], later))
    return order
