"""The arena plan for TensorFlow Lite Micro: the metadata entry ``OfflineMemoryAllocation``.

The entry is an array of int32: version (1), subgraph (0), number of tensors in all subgraphs, then one arena offset per
tensor. An offset of -1 means that TensorFlow Lite Micro (TFLM) chooses the offset of the tensor (see TFLM's
``micro_allocation_info.cc`` and ``memory_management.md``).

TFLM uses the offsets without a check, and its kernels do not expect that an input and an output share memory. So the
entry has only offsets that are safe for any kernel. TFLM places the other tensors around them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from arenite.converters.graph.byte_table import planned_graph
from arenite.converters.graph.model import Model, Subgraph

#: The name of the metadata entry.
NAME = "OfflineMemoryAllocation"

#: Operators whose output has the bytes of their first input. If both are at the same address, their TFLM kernels do
#: nothing or copy the bytes to the same place.
_SAME_BYTES = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})

_VERSION = 1
#: The value for a tensor whose offset TFLM chooses.
_ONLINE = -1
#: TFLM rounds the size of every buffer up to a multiple of this number of bytes, and expects such offsets.
_ALIGNMENT = 16


def metadata(model: Model, offsets: Mapping[int, int]) -> bytes:
    """Return the value of the metadata entry. ``offsets`` maps the tensors of the main subgraph to arena offsets. The
    operators of the main subgraph are in the plan's order."""
    safe = stock_offsets(model.main, offsets)
    others = sum(len(g.tensors) for g in model.subgraphs[1:])
    values = [_VERSION, 0, len(safe) + others, *safe, *[_ONLINE] * others]
    return np.array(values, "<i4").tobytes()


def stock_offsets(graph: Subgraph, offsets: Mapping[int, int]) -> list[int]:
    """Return, for each tensor of ``graph``, the offset that TFLM may use, or -1.

    The result is -1 for a variable (TFLM would reuse its memory between two uses), for a tensor whose offset is not
    aligned, for a tensor that overlaps another live tensor, and for a tensor that is larger than the plan assumes (see
    ``planned_graph``). The output of RESHAPE, SQUEEZE and EXPAND_DIMS may have the address of their input.
    """
    lives, planned = _lifetimes(graph), planned_graph(graph).tensors
    copy_of = {op.outputs[0]: op.input(0) for op in graph.ops if op.name in _SAME_BYTES}
    out = [_ONLINE] * len(graph.tensors)
    placed: list[tuple[int, int, int, int, int]] = []  # tensor, first and last operator, first and last byte
    for index in sorted(offsets, key=lambda i: (lives.get(i, (0, 0))[0], i)):
        t = graph.tensors[index]
        offset = offsets[index]
        if t.nbytes != planned[index].nbytes:
            continue
        if index not in lives or t.is_constant or t.is_variable or offset % _ALIGNMENT or t.nbytes == 0:
            continue
        born, dies = lives[index]
        end = offset + -(-t.nbytes // _ALIGNMENT) * _ALIGNMENT
        clash = any(
            born <= other_dies and other_born <= dies and offset < other_end and other_offset < end
            and not (offset == other_offset and copy_of.get(index) == other)
            for other, other_born, other_dies, other_offset, other_end in placed
        )  # fmt: skip
        if not clash:
            out[index] = offset
            placed.append((index, born, dies, offset, end))
    return out


def _lifetimes(graph: Subgraph) -> dict[int, tuple[int, int]]:
    """Return {tensor: (first operator, last operator that uses it)}. Graph inputs live from operator -1, graph
    outputs to the number of operators."""
    lives: dict[int, tuple[int, int]] = dict.fromkeys(graph.inputs, (-1, -1))
    for step, op in enumerate(graph.ops):
        for index in op.outputs:
            lives.setdefault(index, (step, step))
        for index in (*op.inputs, *op.outputs):
            if index in lives:
                lives[index] = (lives[index][0], step)
    for index in graph.outputs:
        if index in lives:
            lives[index] = (lives[index][0], len(graph.ops))
    return lives
