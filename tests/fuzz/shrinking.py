"""Shrink a graph that shows a mismatch: remove operators as long as the mismatch stays."""

from __future__ import annotations

from dataclasses import replace

from arenite.converters.graph.model import Model, Op, Subgraph
from arenite.errors import AreniteError
from arenite.firmware.generator.target import Target
from tests.fuzz.comparison import compare


def minimize(model: Model, target: Target) -> Model:
    """Remove single operators as long as the model still has a mismatch, and return the smallest model."""
    smallest = model
    changed = True
    while changed:
        changed = False
        for k in range(len(smallest.main.ops)):
            candidate = without(smallest, k)
            if candidate is not None and has_mismatch(candidate, target):
                smallest, changed = candidate, True
                break
    return smallest


def has_mismatch(model: Model, target: Target) -> bool:
    """Return whether an output differs from LiteRT's. A model that Arenite or LiteRT refuses has no mismatch."""
    try:
        return bool(compare([model], runs=16, keep=False, targets=[target]))
    except (AreniteError, AssertionError):
        return False


def without(model: Model, drop: int) -> Model | None:
    """Return the model without operator ``drop``, or None if this gives no valid model. Outputs of the removed operator
    that other operators read become graph inputs."""
    graph = model.main
    remaining = [op for op in graph.ops if op.index != drop]
    if not remaining:
        return None
    read = {i for op in remaining for i in op.inputs if i >= 0}
    produced = {i for op in remaining for i in op.outputs}
    new_inputs = sorted(
        i for i in read - produced if graph.tensors[i].data is None and not graph.tensors[i].is_variable
    )
    if any(graph.tensors[i].dtype == "resource" for i in new_inputs):
        return None
    outputs = tuple(sorted(produced - read))
    ops: list[Op] = [replace(op, index=k) for k, op in enumerate(remaining)]
    used = sorted(read | produced)
    new_index = {old: new for new, old in enumerate(used)}
    tensors = tuple(replace(graph.tensors[old], index=new) for new, old in enumerate(used))

    def move(indices: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(new_index[i] if i >= 0 else -1 for i in indices)

    ops = [
        replace(op, inputs=move(op.inputs), outputs=move(op.outputs), intermediates=())
        if not op.intermediates
        else op
        for op in ops
    ]
    if any(op.intermediates for op in ops):
        return None
    main = Subgraph(graph.name, tensors, tuple(ops), move(tuple(new_inputs)), move(outputs))
    return model.with_main(main)
