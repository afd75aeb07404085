"""Find inputs whose values are indices into a table, such as the tokens of an embedding, and the size of that table.

Tools that run a model on random inputs need these limits: LiteRT refuses an index that is outside of its table.
"""

from __future__ import annotations

from arenite.converters.graph.model import Op, Subgraph

#: For each operator with indices: the position of the table, and the position of the indices.
_TABLE_AND_INDICES = {"GATHER": (0, 1), "GATHER_ND": (0, 1), "EMBEDDING_LOOKUP": (1, 0)}

#: Operators whose outputs hold unchanged values of inputs, and the positions of these inputs. None means all inputs.
_COPIES: dict[str, tuple[int, ...] | None] = {
    "RESHAPE": (0,),
    "SQUEEZE": (0,),
    "EXPAND_DIMS": (0,),
    "TRANSPOSE": (0,),
    "CAST": (0,),
    "SLICE": (0,),
    "STRIDED_SLICE": (0,),
    "GATHER": (0,),
    "TILE": (0,),
    "BROADCAST_TO": (0,),
    "REVERSE_V2": (0,),
    "SPLIT": (1,),
    "SPLIT_V": (0,),
    "UNPACK": (0,),
    "PACK": None,
    "CONCATENATION": None,
    "SELECT": (1, 2),
    "SELECT_V2": (1, 2),
}


def index_limits(graph: Subgraph) -> dict[int, int]:
    """Return {input tensor of ``graph``: number of valid indices}. The valid indices are 0 to that number minus 1.

    Inputs whose values are not used as indices are not in the result.
    """
    limits: dict[int, int] = {}

    def lower(tensor: int, limit: int) -> None:
        limits[tensor] = min(limit, limits.get(tensor, limit))

    for op in reversed(graph.ops):
        copied = _copied_inputs(op)
        for limit in (limits[i] for i in op.outputs if i in limits):
            for i in copied:
                lower(i, limit)
        if op.name in _TABLE_AND_INDICES:
            table, indices = (op.input(k) for k in _TABLE_AND_INDICES[op.name])
            if table >= 0 and indices >= 0:
                rows = _rows(op, graph.tensors[table].shape, graph.tensors[indices].shape)
                if rows is not None:
                    lower(indices, rows)
    return {i: limits[i] for i in graph.inputs if i in limits}


def _copied_inputs(op: Op) -> tuple[int, ...]:
    if op.name not in _COPIES:
        return ()
    positions = _COPIES[op.name]
    positions = tuple(range(len(op.inputs))) if positions is None else positions
    return tuple(i for i in map(op.input, positions) if i >= 0)


def _rows(op: Op, table: tuple[int, ...], indices: tuple[int, ...]) -> int | None:
    """Return the number of entries that an index of ``op`` can select, or None if the shapes do not determine it.

    ``table`` and ``indices`` are shapes.
    """
    if not table:
        return None
    if op.name == "GATHER":
        axis = int(op.options.get("axis", 0))
        return table[axis] if -len(table) <= axis < len(table) else None
    if op.name == "GATHER_ND":  # one limit for all dimensions that the indices select
        depth = indices[-1] if indices else 0
        return min(table[:depth]) if 0 < depth <= len(table) else None
    return table[0]
