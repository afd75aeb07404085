"""Sort operators so that each follows those whose outputs it reads."""

from __future__ import annotations

from collections.abc import Iterable

from arenite.converters.graph.model import Op
from arenite.converters.graph.topological_order import topological_order


def in_order(ops: Iterable[Op]) -> list[Op]:
    """Return ``ops`` with each operator after those whose outputs it reads. Where that leaves a choice, the operator
    with the smallest index comes first. The indices do not change."""
    unsorted = list(ops)
    producer = {i: k for k, op in enumerate(unsorted) for i in op.outputs if i >= 0}
    before = [{producer[i] for i in op.inputs if i in producer} - {k} for k, op in enumerate(unsorted)]
    return [unsorted[k] for k in topological_order(before, [op.index for op in unsorted])]
