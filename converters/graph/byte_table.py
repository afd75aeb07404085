"""Find the operators CAST, ADD and GATHER that together look up each byte of a tensor in a table of 256 bytes.

TFLite has no operator for such a table, so a converted model casts int8 to int32, adds 128 and gathers from a constant.
The firmware runs the three operators as one loop. It neither widens nor adds: the outputs of CAST and ADD are the bytes
of the input, and GATHER looks them up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import NONE

#: The constant of ADD, which maps int8 values (-128 to 127) to indices (0 to 255).
_OFFSET = 128


@dataclass(frozen=True)
class ByteTable:
    """The three operators of one table. ``values[i]`` is the result for the input byte that is ``i`` as uint8."""

    cast: Op
    add: Op
    gather: Op
    values: np.ndarray  # int8 [256]


def byte_table_of(graph: Subgraph, op: Op) -> ByteTable | None:
    """Return the table to which the CAST, ADD or GATHER ``op`` belongs, or None if it belongs to none."""
    if op.name == "GATHER":
        cast = _before(graph, _before(graph, op, 1, "ADD"), 0, "CAST")
    elif op.name == "ADD":
        cast = _before(graph, op, 0, "CAST")
    else:
        cast = op if op.name == "CAST" else None
    table = None if cast is None else _table(graph, cast)
    return (
        table
        if table is not None and op.index in (table.add.index, table.cast.index, table.gather.index)
        else None
    )


def planned_graph(graph: Subgraph) -> Subgraph:
    """Return ``graph`` as the planner must see it: the outputs of the CAST and the ADD of a table are int8, not
    int32."""
    tensors = list(graph.tensors)
    for op in graph.ops:
        table = _table(graph, op) if op.name == "CAST" else None
        for i in () if table is None else (table.cast.outputs[0], table.add.outputs[0]):
            tensors[i] = replace(tensors[i], dtype="int8")
    return replace(graph, tensors=tuple(tensors))


def _before(graph: Subgraph, op: Op | None, position: int, name: str) -> Op | None:
    """Return the operator that computes the input of ``op`` at ``position``, or None if that is not a ``name``."""
    if op is None:
        return None
    before = next((o for o in graph.ops if op.input(position) in o.outputs), None)
    return before if before is not None and before.name == name else None


def _table(graph: Subgraph, cast: Op) -> ByteTable | None:
    """Return the table that begins with ``cast``, or None if CAST, ADD and GATHER do not form a table of bytes."""
    inp, out = graph.tensors[cast.inputs[0]], graph.tensors[cast.outputs[0]]
    if inp.dtype != "int8" or inp.data is not None or out.dtype != "int32":
        return None
    add = _only_reader(graph, out.index, "ADD", 0)
    if add is None or add.options.get("fused_activation_function", NONE) != NONE:
        return None
    offset, indices = graph.tensors[add.inputs[1]], graph.tensors[add.outputs[0]]
    if offset.data is None or offset.elements != 1 or int(offset.data.reshape(-1)[0]) != _OFFSET:
        return None
    gather = _only_reader(graph, indices.index, "GATHER", 1)
    if gather is None or indices.shape != inp.shape:
        return None
    table = graph.tensors[gather.inputs[0]]
    if table.data is None or table.shape != (256,) or table.dtype != "int8":
        return None
    # GATHER's index is the int8 value plus 128, but the index of ``values`` is the byte as uint8.
    return ByteTable(cast, add, gather, np.roll(table.data, -_OFFSET))


def _only_reader(graph: Subgraph, tensor: int, name: str, position: int) -> Op | None:
    """Return the only operator that reads ``tensor``, if it is a ``name`` whose only input ``tensor`` is at
    ``position``.

    Returns None otherwise, and if ``tensor`` is an output of the graph.
    """
    readers = [op for op in graph.ops if tensor in (*op.inputs, *op.intermediates)]
    if len(readers) != 1 or tensor in graph.outputs or readers[0].name != name:
        return None
    return (
        readers[0] if readers[0].inputs.count(tensor) == 1 and readers[0].inputs[position] == tensor else None
    )
