"""The arena plan in the form that TensorFlow Lite Micro reads: the metadata ``OfflineMemoryAllocation``.

It is an array of int32: version (1), subgraph (0), number of tensors in all subgraphs, then one arena offset per
tensor, -1 where the runtime is to place it itself (TFLM's ``micro_allocation_info.cc`` and ``memory_management.md``).

TFLM uses the given offsets without a check, and its kernels do not expect that an input and an output share memory.
Only offsets that are safe for any kernel are therefore passed on; TFLM places tensors with -1 around them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from arenite.converters.graph.model import Model, Subgraph

#: Name of the metadata entry.
NAME = "OfflineMemoryAllocation"

#: Operators whose output has the bytes of their first input, and whose TFLM kernels do nothing, or copy onto
#: themselves, when both are at one address.
_SAME_BYTES = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})

_VERSION = 1
_ONLINE = -1
#: TFLM rounds the size of every buffer up to this, and expects offsets at multiples of it.
_ALIGNMENT = 16


def metadata(model: Model, offsets: Mapping[int, int]) -> bytes:
    """Return the entry's value for arena ``offsets`` (tensor index to bytes) of the main subgraph, operators in plan
    order."""
    safe = stock_offsets(model.main, offsets)
    others = sum(len(g.tensors) for g in model.subgraphs[1:])
    values = [_VERSION, 0, len(safe) + others, *safe, *[_ONLINE] * others]
    return np.array(values, "<i4").tobytes()


def stock_offsets(graph: Subgraph, offsets: Mapping[int, int]) -> list[int]:
    """Per tensor the offset that a stock interpreter may use, or -1.

    The result leaves out the offsets of variables (TFLM would reuse their memory between two uses), those that are not
    aligned, and those that overlap another live tensor, unless it is the exact copy that RESHAPE and similar operators
    make.
    """
    lives = _lifetimes(graph)
    copy_of = {op.outputs[0]: op.input(0) for op in graph.ops if op.name in _SAME_BYTES}
    out = [_ONLINE] * len(graph.tensors)
    placed: list[tuple[int, int, int, int, int]] = []  # tensor, first and last operator, first and last byte
    for index in sorted(offsets, key=lambda i: (lives.get(i, (0, 0))[0], i)):
        t = graph.tensors[index]
        offset = offsets[index]
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
    """First and last operator that needs each tensor; inputs live from -1, outputs to the end."""
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
