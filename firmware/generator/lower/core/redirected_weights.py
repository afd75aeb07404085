"""Lower an operator whose weights are stored in flash in another form than its kernel reads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.core.lowering import (
    LOWERINGS,
    NULL,
    Expr,
    KernelCall,
    LowerContext,
    require_accepted,
)
from arenite.firmware.generator.lower.core.variant import Variant
from arenite.firmware.generator.target import Target

#: The names that lowerings use for weights other than biases, and the position of the weights among the inputs.
_HINTS, _POSITION = ("weights", "filters"), 1


class RedirectedContext(LowerContext):
    """A context that passes weights to ``place``, which returns their address, and otherwise behaves like the
    context ``inner``."""

    def __init__(self, inner: LowerContext, place: Callable[[np.ndarray], Expr]) -> None:
        self.graph, self.op, self.target = inner.graph, inner.op, inner.target
        self._inner, self._place = inner, place

    def weights(self, values: np.ndarray, hint: str, tables: int = 0) -> Expr:
        return self._place(values) if hint in _HINTS else self._inner.weights(values, hint, tables)

    def input_ptr(self, position: int) -> Expr:
        data = None if position != _POSITION else self.graph.tensors[self.op.inputs[position]].data
        return self._inner.input_ptr(position) if data is None else self._place(data)

    def output_ptr(self, position: int = 0) -> Expr:
        return self._inner.output_ptr(position)

    def tensor_ptr(self, index: int) -> Expr:
        return self._inner.tensor_ptr(index)

    def variable_ptr(self, name: str) -> Expr:
        return self._inner.variable_ptr(name)

    def table(self, values: np.ndarray, hint: str) -> Expr:
        return self._inner.table(values, hint)

    def scratch_ptr(self, offset: int = 0) -> Expr:
        return self._inner.scratch_ptr(offset)

    def state_ptr(self) -> Expr:
        return self._inner.state_ptr()


class _RecordingContext(LowerContext):
    """A context for lowering before the arena is planned. All addresses are ``NULL``."""

    def __init__(self, graph: Subgraph, op: Op, target: Target) -> None:
        self.graph, self.op, self.target = graph, op, target

    def _none(self, *_: object) -> Expr:
        return NULL

    input_ptr = output_ptr = tensor_ptr = variable_ptr = scratch_ptr = _none  # type: ignore[assignment]

    def weights(self, values: np.ndarray, hint: str, tables: int = 0) -> Expr:
        return NULL

    def table(self, values: np.ndarray, hint: str) -> Expr:
        return NULL

    def state_ptr(self) -> Expr:
        return NULL


def weights_of(graph: Subgraph, op: Op, target: Target, kernel: Variant | None) -> list[np.ndarray]:
    """Return the arrays of weights that ``kernel``, or the operator's default kernel if it is None, stores in flash."""
    placed: list[np.ndarray] = []

    def record(values: np.ndarray) -> Expr:
        placed.append(values)
        return NULL

    lower_redirected(RedirectedContext(_RecordingContext(graph, op, target), record), kernel)
    return placed


def lower_redirected(ctx: LowerContext, kernel: Variant | None) -> KernelCall:
    """Return the call of ``kernel``, or of the operator's default kernel if it is None."""
    return require_accepted(LOWERINGS[ctx.op.name].lower(ctx) if kernel is None else kernel.lower(ctx))
