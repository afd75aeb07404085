"""Find tensors whose bytes are consecutive bytes of another tensor, such as one time step of a sequence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.shapes.rule import axis_of


class View(NamedTuple):
    """The bytes of a tensor are the bytes of the tensor ``source`` from byte ``start`` on."""

    source: int
    start: int


#: A tensor with more elements than this is not examined.
_MAX_ELEMENTS = 1 << 20


def views_of(graph: Subgraph, producer: Mapping[int, Op], tensor: int) -> list[View]:
    """Return the views of ``tensor``: first of itself, then of the earlier tensors that contain its bytes, latest
    first.

    ``producer`` has the operator that computes each tensor.
    """
    views = [View(tensor, 0)]
    while (op := producer.get(views[-1].source)) is not None:
        step = _view(graph, op, views[-1].source)
        if step is None:
            break
        views.append(View(step.source, step.start + views[-1].start))
    return views


def offset_in_output(graph: Subgraph, op: Op, position: int) -> int | None:
    """Return the byte of the output of ``op``, a CONCATENATION or PACK, at which the bytes of input ``position`` begin.
    Return None if they are not consecutive there, or for another operator."""
    if op.name not in ("CONCATENATION", "PACK"):
        return None
    shapes = [graph.tensors[i].shape for i in op.inputs]
    rank = len(shapes[0]) + (op.name == "PACK")
    axis = axis_of(op.options.get("axis") or 0, rank)
    if any(d != 1 for d in shapes[0][:axis]):
        return None
    return sum(graph.tensors[i].nbytes for i in op.inputs[:position])


def _view(graph: Subgraph, op: Op, tensor: int) -> View | None:
    """Return ``tensor``, an output of ``op``, as a view of an input of ``op``. Return None if it is none."""
    move = _MOVES.get(op.name)
    if move is None:
        return None
    position = 1 if op.name == "SPLIT" else 0
    source = graph.tensors[op.inputs[position]]
    if source.data is not None or not source.itemsize or not 0 < source.elements <= _MAX_ELEMENTS:
        return None
    constants = [graph.tensors[i].data for p, i in enumerate(op.inputs) if p != position and i >= 0]
    if any(c is None for c in constants) and op.name != "RESHAPE":
        return None
    # Move the numbers of the source's elements as ``op`` moves the elements. Consecutive numbers are a view.
    numbers = np.arange(source.elements).reshape(source.shape)
    output = op.outputs.index(tensor)
    taken = move(numbers, [c for c in constants if c is not None], op, output)
    flat = None if taken is None else taken.reshape(-1)
    if flat is None or not flat.size or not np.array_equal(flat, np.arange(flat[0], flat[0] + flat.size)):
        return None
    return View(source.index, int(flat[0]) * source.itemsize)


_Constants = Sequence[np.ndarray]
#: A function that moves the elements of an array as an operator does. The arguments are the array, the operator's
#: constant inputs, the operator, and the position of the output. The result is that output, or None if the options of
#: the operator are not supported.
_Move = Callable[[np.ndarray, _Constants, Op, int], np.ndarray | None]


def _unchanged(x: np.ndarray, constants: _Constants, op: Op, output: int) -> np.ndarray:
    return x


def _transpose(x: np.ndarray, constants: _Constants, op: Op, output: int) -> np.ndarray:
    return x.transpose([int(a) for a in constants[0].reshape(-1)])


def _slice(x: np.ndarray, constants: _Constants, op: Op, output: int) -> np.ndarray:
    begin, size = (c.reshape(-1).tolist() for c in constants)
    return x[tuple(slice(b, None if n == -1 else b + n) for b, n in zip(begin, size, strict=True))]


def _strided_slice(x: np.ndarray, constants: _Constants, op: Op, output: int) -> np.ndarray | None:
    if op.options.get("ellipsis_mask") or op.options.get("new_axis_mask") or op.options.get("offset"):
        return None
    begin, end, strides = (c.reshape(-1).tolist() for c in constants)
    index: list[slice | int] = []
    for k, (b, e, s) in enumerate(zip(begin, end, strides, strict=True)):
        if op.options.get("shrink_axis_mask", 0) >> k & 1:
            index.append(b)
            continue
        first = None if op.options.get("begin_mask", 0) >> k & 1 else b
        last = None if op.options.get("end_mask", 0) >> k & 1 else e
        index.append(slice(first, last, s))
    return x[tuple(index)]


def _split(x: np.ndarray, constants: _Constants, op: Op, output: int) -> np.ndarray:
    axis = int(constants[0].reshape(-1)[0])
    size = x.shape[axis] // op.options["num_splits"]
    return x.take(np.arange(output * size, (output + 1) * size), axis)


def _unpack(x: np.ndarray, constants: _Constants, op: Op, output: int) -> np.ndarray:
    axis = op.options.get("axis") or 0
    return x.take([output], axis)


def _gather(x: np.ndarray, constants: _Constants, op: Op, output: int) -> np.ndarray | None:
    if op.options.get("batch_dims"):
        return None
    return x.take(constants[0], op.options.get("axis") or 0)


_MOVES: dict[str, _Move] = {
    "RESHAPE": _unchanged,
    "SQUEEZE": _unchanged,
    "EXPAND_DIMS": _unchanged,
    "TRANSPOSE": _transpose,
    "SLICE": _slice,
    "STRIDED_SLICE": _strided_slice,
    "SPLIT": _split,
    "UNPACK": _unpack,
    "GATHER": _gather,
}
