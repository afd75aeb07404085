"""Hash what a model is besides its weights: operators, shapes and types."""

from __future__ import annotations

import hashlib

from arenite.converters.graph.model import Model, Subgraph
from arenite.converters.graph.trees import is_tree_ensemble


def graph_hash(model: Model) -> bytes:
    """Return the SHA-256 of the operators of all subgraphs with their options, and of the shapes and types of their
    tensors.

    Values of constants, scales, zero points, names, the numbers of tensors, and the sizes of trees do not change it.
    """
    digest = hashlib.sha256()
    for graph in model.subgraphs:
        for line in _lines(graph):
            digest.update(f"{line}\n".encode())
    return digest.digest()


def _lines(graph: Subgraph) -> list[str]:
    """Return one line for each operator, and one for the inputs and outputs of the graph. Tensors have the numbers of
    their first uses."""
    numbers: dict[int, int] = {}

    def describe(index: int, is_table: bool = False) -> tuple[object, ...]:
        if index < 0:
            return ()
        tensor = graph.tensors[index]
        number, is_constant = numbers.setdefault(index, len(numbers)), tensor.data is not None
        shape = None if is_table and is_constant else tensor.shape
        return (number, tensor.dtype, shape, is_constant, tensor.is_variable)

    lines = []
    for op in graph.ops:
        options = sorted((name, repr(value)) for name, value in op.options.items())
        is_table = is_tree_ensemble(op)
        groups = (op.inputs, op.outputs, op.intermediates)
        tensors = [[describe(t, is_table) for t in group] for group in groups]
        lines.append(repr((op.kind, options, op.custom_options.hex(), tensors)))
    lines.append(repr([[describe(t) for t in group] for group in (graph.inputs, graph.outputs)]))
    return lines
