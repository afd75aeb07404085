"""Lower a planned model to C: constant data, one function per layer, and nothing to initialise.

``model.c`` has the arena, the parameters and the layers; ``weights.c`` the constant arrays; ``model.h`` what
user code sees. Each layer's comment gives its operator, shapes and arena interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.graph import Model, Op, Subgraph, Tensor
from arenite.converters.planner.plan import Plan
from arenite.firmware.generator import emit
from arenite.firmware.generator.constants import Constant, ConstantPool
from arenite.firmware.generator.lower.base import NULL, Expr, KernelCall, LowerContext, StructArray
from arenite.firmware.generator.lower.variant import variant_of
from arenite.firmware.generator.needs import lowering_of, op_macs
from arenite.firmware.generator.state import Variable, find_variables
from arenite.firmware.generator.target import PORTABLE, Target


@dataclass(frozen=True)
class Layer:
    """One operator of the plan; ``call`` is None when it needs no code."""

    index: int  # position in execution order
    op: Op
    call: KernelCall | None
    macs: int
    comment: str


@dataclass(frozen=True)
class Generated:
    """A lowered model: what is emitted, and what the size prediction and the report need to know."""

    model: Model
    plan: Plan
    prefix: str
    layers: tuple[Layer, ...]
    constants: tuple[Constant, ...]
    variables: tuple[Variable, ...]
    sha256: bytes
    name: str

    @property
    def calls(self) -> tuple[Layer, ...]:
        """The layers that have code, in order: one entry of ``ar_model.layers`` each."""
        return tuple(layer for layer in self.layers if layer.call is not None)

    @property
    def engine_sources(self) -> tuple[str, ...]:
        names = {s for layer in self.calls if layer.call for s in layer.call.sources}
        if self.variables:
            names.add("state.c")
        return tuple(sorted(names))

    def sources(self) -> dict[str, str]:
        """File name to text: model.h, model.c, weights.h, weights.c (with the prefix in their names)."""
        return emit.sources(self)


class _Context(LowerContext):
    def __init__(
        self, graph: Subgraph, op: Op, layer: int, plan: Plan, pool: ConstantPool, target: Target
    ) -> None:
        self.graph, self.op, self.target = graph, op, target
        self._layer, self._plan, self._pool = layer, plan, pool

    def input_ptr(self, position: int) -> Expr:
        index = self.op.input(position)
        return NULL if index < 0 else self.tensor_ptr(index)

    def output_ptr(self, position: int = 0) -> Expr:
        return self.tensor_ptr(self.op.outputs[position])

    def tensor_ptr(self, index: int) -> Expr:
        tensor = self.graph.tensors[index]
        if tensor.data is not None:
            return self.weights(tensor.data, f"tensor{index}")
        return emit.arena(self._plan.offsets[index])

    def variable_ptr(self, name: str) -> Expr:
        return emit.arena(self._plan.variable_offsets[name])

    def weights(self, values: np.ndarray, hint: str) -> Expr:
        return self._add(values, hint, True)

    def table(self, values: np.ndarray, hint: str) -> Expr:
        return self._add(values, hint, False)

    def _add(self, values: np.ndarray, hint: str, is_weight: bool) -> Expr:
        comment = f"layer {self._layer} {self.op.name}: {hint} {'x'.join(map(str, values.shape))}"
        return self._pool.add(values, self._layer, hint, comment, is_weight)

    def scratch_ptr(self, offset: int = 0) -> Expr:
        return emit.arena(self._plan.scratch_offsets[self.op.index] + offset)


def lower_model(
    model: Model,
    plan: Plan,
    *,
    target: Target = PORTABLE,
    sha256: bytes = bytes(32),
    name: str = "model",
    prefix: str = "",
) -> Generated:
    """Lower every operator of the main subgraph in the plan's order, with the kernels that ``plan`` was made for.

    ``prefix`` goes before every symbol that other files see, so that several models can be linked together.
    Raises ``UnsupportedModelError`` for an operator that cannot be run exactly.
    """
    graph = model.main
    pool = ConstantPool()
    layers = []
    for position, op_index in enumerate(plan.order):
        op = graph.ops[op_index]
        lowering = lowering_of(op)
        lowering.check(graph, op)
        context = _Context(graph, op, position, plan, pool, target)
        call = (variant_of(graph, op, target) or lowering).lower(context)
        comment = layer_comment(graph, op, plan)
        layers.append(Layer(position, op, call, op_macs(graph, op), comment))
    variables = find_variables(model, plan)
    # A lowering may ask for the address of a constant and then not need it: the linker would drop the array anyway.
    used = {symbol for layer in layers if layer.call for symbol in _symbols(layer.call.fields)}
    constants = tuple(c for c in pool.constants if c.symbol in used)
    return Generated(model, plan, prefix, tuple(layers), constants, variables, sha256, name)


def _symbols(value: Any) -> Iterator[str]:
    """The text of every expression in a field value of a ``KernelCall``."""
    if isinstance(value, Expr):
        yield value.text
    elif isinstance(value, StructArray):
        yield from _symbols(value.items)
    elif isinstance(value, Mapping):
        yield from _symbols(tuple(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _symbols(item)


def layer_comment(graph: Subgraph, op: Op, plan: Plan) -> str:
    """``CONV_2D 1x48x48x8 -> 1x48x48x16, arena [0, 18432) -> [18432, 55296)``."""

    def shapes(tensors: list[Tensor]) -> str:
        return ", ".join("x".join(map(str, t.shape)) or "scalar" for t in tensors) or "nothing"

    def intervals(tensors: list[Tensor]) -> str:
        spans = [plan.offsets.get(t.index) for t in tensors]
        places = [f"[{s}, {s + t.nbytes})" for s, t in zip(spans, tensors, strict=True) if s is not None]
        return ", ".join(places) or "nothing"

    ins = [t for t in graph.in_tensors(op) if t.data is None]
    outs = list(graph.out_tensors(op))
    return f"{op.name} {shapes(ins)} -> {shapes(outs)}, arena {intervals(ins)} -> {intervals(outs)}"
