"""Sort operators so that each comes after the operators whose outputs it reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from arenite.converters.graph.model import Op
from arenite.converters.graph.topological_order import topological_order
from arenite.converters.tflite.operator_order import STATEFUL


def sort_operators(ops: Iterable[Op]) -> list[Op]:
    """Return ``ops`` with each operator after the operators whose outputs it reads. Where that leaves a choice, the
    operator with the smallest index comes first. Stateful operators keep the order of their indices. The indices do
    not change.

    Raises ``ValueError`` if there is no such order.
    """
    unsorted = list(ops)
    order = topological_order(operators_before(unsorted), [op.index for op in unsorted])
    if len(order) < len(unsorted):
        raise ValueError("the operators depend on each other")
    return [unsorted[k] for k in order]


def operators_before(ops: Sequence[Op]) -> list[set[int]]:
    """Return, for each operator, the positions in ``ops`` of the operators that must run before it: the operators whose
    outputs it reads and, for a stateful operator, the stateful operator with the next smaller index."""
    producer = {i: k for k, op in enumerate(ops) for i in op.outputs if i >= 0}
    before = [{producer[i] for i in op.inputs if i in producer} - {k} for k, op in enumerate(ops)]
    stateful = sorted((op.index, k) for k, op in enumerate(ops) if op.name in STATEFUL)
    for (_, first), (_, second) in pairwise(stateful):
        before[second].add(first)
    return before
