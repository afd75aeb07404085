"""Sort operators so that each follows those whose outputs it reads."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from arenite.converters.graph.model import Op


def in_order(ops: Iterable[Op]) -> list[Op]:
    """Return ``ops`` with each operator after those whose outputs it reads. Where that leaves a choice, the operator
    with the smallest index comes first. The indices do not change."""
    pending = list(ops)
    producer = {i: k for k, op in enumerate(pending) for i in op.outputs if i >= 0}
    readers: dict[int, list[int]] = {}
    missing = []
    for k, op in enumerate(pending):
        before = {producer[i] for i in op.inputs if i in producer and producer[i] != k}
        missing.append(len(before))
        for b in before:
            readers.setdefault(b, []).append(k)
    ready = [(op.index, k) for k, op in enumerate(pending) if not missing[k]]
    heapq.heapify(ready)
    ordered = []
    while ready:
        _, k = heapq.heappop(ready)
        ordered.append(pending[k])
        for reader in readers.get(k, ()):
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, (pending[reader].index, reader))
    return ordered
