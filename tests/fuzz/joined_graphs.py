"""Join independent graphs to one, so that one firmware runs all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arenite.converters.graph.model import Model, Op, Subgraph, Tensor


def can_join(model: Model) -> bool:
    """Return whether the graph has no other subgraphs, no state, and no operators that LiteRT lacks (see
    ``Reference``)."""
    names = {op.name for op in model.main.ops}
    has_state = "VAR_HANDLE" in names or any(t.is_variable for t in model.main.tensors)
    return len(model.subgraphs) == 1 and not has_state and not names & {"CUSTOM", "ELU"}


def join(models: Sequence[Model]) -> Model:
    """Return a model with the tensors, operators, inputs and outputs of all graphs, one graph after the other."""
    tensors: list[Tensor] = []
    ops: list[Op] = []
    inputs: list[int] = []
    outputs: list[int] = []
    for model in models:
        shift = len(tensors)

        def moved(indices: Sequence[int], shift: int = shift) -> tuple[int, ...]:
            return tuple(i + shift if i >= 0 else i for i in indices)

        graph = model.main
        tensors += [replace(t, index=t.index + shift, name=f"{t.name}_{shift}") for t in graph.tensors]
        ops += [
            replace(
                op,
                index=len(ops) + position,
                inputs=moved(op.inputs),
                outputs=moved(op.outputs),
                intermediates=moved(op.intermediates),
            )
            for position, op in enumerate(graph.ops)
        ]
        inputs += moved(graph.inputs)
        outputs += moved(graph.outputs)
    return Model((Subgraph("main", tuple(tensors), tuple(ops), tuple(inputs), tuple(outputs)),))
