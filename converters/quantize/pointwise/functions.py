"""Find the groups of operators that compute a function of one tensor, value by value.

Frameworks compute softplus, mish, ELU and others with EXP, ADD, LOG, GREATER and SELECT. In int8, each of these
operators would round its result to 256 steps, and EXP of a few large values would widen the scale for all values. If
they are combined into one function of one variable, only the final result is rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.passes.producers import producers, readers
from arenite.converters.quantize.pointwise.operators import apply_operator, is_pointwise

#: Types of the values between the operators.
_TYPES = ("float32", "bool")


@dataclass(frozen=True)
class PointwiseFunction:
    """Operators ``ops`` that compute tensor ``result`` from tensor ``source`` value by value. No other operator
    reads the tensors between them."""

    graph: Subgraph
    ops: tuple[Op, ...]
    source: int  # a tensor of type float32
    result: int  # a tensor of type float32, of the same shape

    @property
    def last(self) -> Op:
        return self.ops[-1]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the function's values at ``x`` in float64. Where it is not defined, they are NaN or infinite.

        If the function differs between channels, the last axis of ``x`` has the size 1 or one value per channel.
        """
        values: dict[int, np.ndarray] = {self.source: x.astype(np.float64)}
        for op in self.ops:
            inputs = [values[i] if i in values else self._constant(i, x.shape) for i in op.inputs]
            values[op.outputs[0]] = apply_operator(op, *inputs)
        return values[self.result].astype(np.float64)

    def _constant(self, tensor: int, shape: tuple[int, ...]) -> np.ndarray:
        """Return the value of a constant: in ``shape`` if all its elements are equal, otherwise [channels]."""
        value = _channel_values(self.graph.tensors[tensor])
        assert value is not None
        return np.full(shape, value) if value.size == 1 else value


def pointwise_functions(graph: Subgraph, *, per_channel: bool = False) -> tuple[PointwiseFunction, ...]:
    """Return the largest groups of operators of ``graph`` that compute a function of one float32 tensor.

    A group may have a single operator. No operator is in two groups. If ``per_channel``, the function may have a
    different constant for each channel (the last axis), as in PReLU.
    """
    ancestors = _ancestors(graph, _channel_values if per_channel else _scalar_value)
    producer, reader = producers(graph), readers(graph)
    functions: list[PointwiseFunction] = []
    taken: set[int] = set()
    for op in reversed(graph.ops):
        if op.index in taken or not op.outputs or op.outputs[0] not in ancestors:
            continue
        result = op.outputs[0]
        if graph.tensors[result].dtype != "float32":
            continue
        sources = [i for i in ancestors[result] if graph.tensors[i].dtype == "float32"]
        for source in sorted(sources, key=lambda i: (producer[i].index if i in producer else -1, i)):
            ops = _operators_between(graph, producer, source, result)
            indices = {o.index for o in ops}
            inner = [o.outputs[0] for o in ops[:-1]]
            if taken.isdisjoint(indices) and all(
                i not in graph.outputs and indices.issuperset(reader[i]) for i in inner
            ):
                functions.append(PointwiseFunction(graph, ops, source, result))
                taken |= indices
                break
    return tuple(reversed(functions))


def _ancestors(graph: Subgraph, constant: Callable[[Tensor], np.ndarray | None]) -> dict[int, frozenset[int]]:
    """Return {tensor: tensors}. The tensor can be computed value by value from each of these tensors alone.
    ``constant`` returns the value of a constant that may be part of the computation, and None for any other tensor."""
    ancestors: dict[int, frozenset[int]] = {}
    for op in graph.ops:
        variables = [i for i in op.inputs if i >= 0 and constant(graph.tensors[i]) is None]
        if not is_pointwise(op) or len(op.outputs) != 1 or -1 in op.inputs or not variables:
            continue
        out = graph.tensors[op.outputs[0]]
        tensors = [*(graph.tensors[i] for i in variables), out]
        if any(t.shape != out.shape or t.dtype not in _TYPES or t.is_constant for t in tensors):
            continue
        if any(t.is_variable for t in tensors) or (op.name == "CAST" and tensors[0].dtype != "bool"):
            continue
        shared = [ancestors.get(i, frozenset[int]()) | {i} for i in variables]
        ancestors[op.outputs[0]] = frozenset.intersection(*shared)
    return {i: sources for i, sources in ancestors.items() if sources}


def _operators_between(graph: Subgraph, producer: dict[int, Op], source: int, result: int) -> tuple[Op, ...]:
    """Return the operators that compute ``result`` from ``source``, in order."""
    indices: set[int] = set()
    open_tensors = [result]
    while open_tensors:
        i = open_tensors.pop()
        if i == source or i not in producer or producer[i].index in indices:
            continue
        indices.add(producer[i].index)
        open_tensors += producer[i].inputs
    return tuple(graph.ops[k] for k in sorted(indices))


def _scalar_value(t: Tensor) -> np.ndarray | None:
    """Return float64 [1], the value of a constant whose elements are all equal, or None for any other tensor."""
    values = _channel_values(t)
    return None if values is None or values.size != 1 else values


def _channel_values(t: Tensor) -> np.ndarray | None:
    """Return the values of a constant as float64: [1] if all elements are equal, or [channels] if they differ only
    along the last axis. Return None for any other tensor."""
    if t.data is None or t.dtype not in _TYPES or not t.elements:
        return None
    values = t.data.reshape(-1).astype(np.float64)
    if bool(np.all(values == values[0])):
        return values[:1]
    return values if values.size == t.shape[-1] else None
