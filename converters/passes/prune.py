"""Find the operators that the outputs need, remove unused tensors, and renumber operators and tensors."""

from __future__ import annotations

from dataclasses import replace

from arenite.converters.graph.model import Model, Op, Signature, Subgraph, Tensor
from arenite.converters.tflite.offline_plan import NAME as TFLM_PLAN

#: Operators with effects other than their outputs. A custom operator may have such effects.
EFFECTS = frozenset({"ASSIGN_VARIABLE", "CALL_ONCE", "CUSTOM", "IF", "WHILE", "CALL", "HASHTABLE_IMPORT"})


def live_ops(graph: Subgraph) -> tuple[Op, ...]:
    """Return the live operators in order. An operator is live if it has effects other than its outputs, or computes a
    tensor that is a graph output or is read by a live operator."""
    needed = set(graph.outputs)
    live = []
    for op in reversed(graph.ops):
        if op.name in EFFECTS or not op.outputs or needed.intersection(op.outputs):
            live.append(op)
            needed.update(op.inputs)
    return tuple(reversed(live))


def compact(model: Model, subgraph: int) -> Model:
    """Return the model without the unused tensors of the subgraph with the index ``subgraph``, and with the operators
    and tensors of that subgraph numbered by position. TensorFlow Lite Micro's plan is removed if numbers change."""
    graph = model.subgraphs[subgraph]
    used = {*graph.inputs, *graph.outputs}
    for op in graph.ops:
        used.update(op.inputs, op.outputs, op.intermediates)
    for s in model.signatures:
        if s.subgraph == subgraph:
            used.update(i for _, i in (*s.inputs, *s.outputs))
    used.discard(-1)
    if len(used) == len(graph.tensors) and all(op.index == k for k, op in enumerate(graph.ops)):
        return model
    new = {old: k for k, old in enumerate(sorted(used))} | {-1: -1}

    def renumber(indices: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(new[i] for i in indices)

    tensors: tuple[Tensor, ...] = tuple(replace(graph.tensors[old], index=new[old]) for old in sorted(used))
    ops = tuple(
        replace(
            op,
            index=k,
            inputs=renumber(op.inputs),
            outputs=renumber(op.outputs),
            intermediates=renumber(op.intermediates),
        )
        for k, op in enumerate(graph.ops)
    )
    small = Subgraph(graph.name, tensors, ops, renumber(graph.inputs), renumber(graph.outputs))
    subgraphs = (*model.subgraphs[:subgraph], small, *model.subgraphs[subgraph + 1 :])
    signatures = tuple(
        s
        if s.subgraph != subgraph
        else Signature(
            s.key,
            subgraph,
            tuple((n, new[i]) for n, i in s.inputs),
            tuple((n, new[i]) for n, i in s.outputs),
        )
        for s in model.signatures
    )
    # TensorFlow Lite Micro's plan refers to tensors by index, and the indices have changed.
    metadata = {k: v for k, v in model.metadata.items() if k != TFLM_PLAN}
    return replace(model, subgraphs=subgraphs, signatures=signatures, metadata=metadata)
