"""Find the producer and the readers of tensors, and replace the operators of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from arenite.converters.graph.model import Model, Op, Subgraph
from arenite.converters.passes.prune import compact


def producers(graph: Subgraph) -> dict[int, Op]:
    """Return {tensor: operator that computes it} for all computed tensors."""
    return {i: op for op in graph.ops for i in op.outputs if i >= 0}


def readers(graph: Subgraph) -> dict[int, list[int]]:
    """Return {tensor: indices of the operators that read it, in order} for all tensors that an operator reads."""
    readers_by_tensor: dict[int, list[int]] = {}
    for op in graph.ops:
        for i in dict.fromkeys((*op.inputs, *op.intermediates)):
            if i >= 0:
                readers_by_tensor.setdefault(i, []).append(op.index)
    return readers_by_tensor


def reader_counts(graph: Subgraph) -> dict[int, int]:
    """Return {tensor: number of times that it is read}. Being a graph output counts as one read."""
    count: dict[int, int] = {}
    for i in (*graph.outputs, *(i for op in graph.ops for i in (*op.inputs, *op.intermediates))):
        count[i] = count.get(i, 0) + 1
    return count


def with_ops(model: Model, ops: Iterable[Op | None], renamed: Mapping[int, int] | None = None) -> Model:
    """Return the model with ``ops`` as the operators of its main subgraph, and without unused tensors. ``ops`` may
    contain None, which is skipped. ``renamed`` maps a tensor to the tensor that operators read instead."""
    names = dict(renamed or {})

    def final(i: int) -> int:
        while i in names:
            i = names[i]
        return i

    remaining = [replace(op, inputs=tuple(map(final, op.inputs))) for op in ops if op is not None]
    main = replace(model.main, ops=tuple(remaining))
    return compact(model.with_main(main), 0)
