"""Find the state that a model keeps between inferences: variable tensors, resource variables, and the states of signal
operators, which are planned like resource variables.

A reset gives the state of a new LiteRT interpreter. Variable tensors hold their zero point (LiteRT's
ResetVariableTensor: int8 the zero point, every other type zero bytes), resource variables hold the values that the
CALL_ONCE subgraph assigned, and the states of signal operators are zeros. LiteRT has no value for a resource variable
without an assignment, so a model that reads such a variable before an assignment is rejected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from arenite.converters.graph.model import Model, Op, Subgraph, Tensor
from arenite.converters.graph.resource_variables import handle_names
from arenite.converters.graph.signal.operators import signal_states
from arenite.converters.planner.plan import Plan
from arenite.errors import UnsupportedModelError


@dataclass(frozen=True)
class Variable:
    """Bytes in the arena that keep their value between inferences, and their value after a reset."""

    name: str
    offset: int
    nbytes: int
    fill: int | None  # the value of every byte after a reset; None: ``initial`` is copied
    initial: bytes


def _variable_uses(graph: Subgraph) -> list[tuple[Op, str, Tensor]]:
    """Return every READ_VARIABLE and ASSIGN_VARIABLE in order, with its variable and the tensor read or assigned."""
    names = handle_names(graph)
    uses = []
    for op in graph.ops:
        if op.name not in ("READ_VARIABLE", "ASSIGN_VARIABLE"):
            continue
        if op.inputs[0] not in names:
            raise _refuse(op, graph.tensors[op.inputs[0]], "is not the output of a VAR_HANDLE")
        index = op.outputs[0] if op.name == "READ_VARIABLE" else op.inputs[1]
        uses.append((op, names[op.inputs[0]], graph.tensors[index]))
    return uses


def _refuse(op: Op, tensor: Tensor, reason: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"operator {op.index} {op.name}, tensor {tensor.index} '{tensor.name}': {reason}.",
        "Export the model with variables of one fixed shape, initialized with constants.",
    )


def _state_graphs(model: Model) -> list[Subgraph]:
    """Return the subgraphs that run: the main one, and those that its CALL_ONCE operators name."""
    graphs = [model.main]
    for op in model.main.ops:
        if op.name == "CALL_ONCE":
            graphs.append(_once_graph(model, op))
    return graphs


def _once_graph(model: Model, op: Op) -> Subgraph:
    """Return the subgraph that the CALL_ONCE ``op`` runs. Raises ``UnsupportedModelError`` if it does not exist."""
    index = op.options["init_subgraph_index"]
    if not 0 < index < len(model.subgraphs):
        raise UnsupportedModelError(
            f"operator {op.index} CALL_ONCE: subgraph {index} does not exist.", "Export the model again."
        )
    return cast(Subgraph, model.subgraphs[index])


def resource_sizes(model: Model) -> dict[str, int]:
    """Return the bytes of every resource variable, from the tensors that are read from or assigned to it, and of every
    state of a signal operator."""
    first_uses: dict[str, Tensor] = {}
    for graph in _state_graphs(model):
        for op, name, tensor in _variable_uses(graph):
            first = first_uses.setdefault(name, tensor)
            if not tensor.itemsize:
                raise _refuse(op, tensor, f"variable '{name}' has type {tensor.dtype}")
            if (first.dtype, first.nbytes) != (tensor.dtype, tensor.nbytes):
                raise _refuse(
                    op,
                    tensor,
                    f"variable '{name}' is {first.nbytes} B of {first.dtype} in another operator"
                    f" and {tensor.nbytes} B of {tensor.dtype} here",
                )
    return {name: tensor.nbytes for name, tensor in first_uses.items()} | signal_states(model.main)


def initial_values(model: Model) -> dict[str, bytes]:
    """Return the constants that CALL_ONCE subgraphs assign to each resource variable. Raises
    ``UnsupportedModelError`` if a subgraph assigns anything else."""
    values: dict[str, bytes] = {}
    for op in model.main.ops:
        if op.name == "CALL_ONCE":
            values |= _constants_of(model, op)
    return values


def _constants_of(model: Model, call: Op) -> dict[str, bytes]:
    """Return the constants that the CALL_ONCE ``call`` assigns, by the name of the variable. Raises
    ``UnsupportedModelError`` if its subgraph does anything else."""
    graph = _once_graph(model, call)
    for inner in graph.ops:
        computed = inner.name == "ASSIGN_VARIABLE" and graph.tensors[inner.inputs[1]].data is None
        if inner.name not in ("VAR_HANDLE", "ASSIGN_VARIABLE") or computed:
            raise UnsupportedModelError(
                f"operator {call.index} CALL_ONCE: its subgraph '{graph.name}' computes values "
                f"(operator {inner.index} {inner.name}); only constant assignments are supported.",
                "Initialize the model's variables with constants.",
            )
    return {
        name: np.ascontiguousarray(tensor.data).tobytes()
        for _, name, tensor in _variable_uses(graph)
        if tensor.data is not None
    }


def check_state(model: Model) -> None:
    """Raise ``UnsupportedModelError`` unless resource variables can have fixed addresses and are set once at the
    start."""
    resource_sizes(model)
    initial_values(model)
    uses = {op.index: (name, tensor) for op, name, tensor in _variable_uses(model.main)}
    used: set[str] = set()  # read or assigned so far
    assigned: set[str] = set()
    for op in model.main.ops:
        if op.name == "CALL_ONCE":
            names = set(_constants_of(model, op))
            if late := sorted(names & used):
                raise UnsupportedModelError(
                    f"operator {op.index} CALL_ONCE: variable '{late[0]}' is used before it is initialized.",
                    "Export the model with CALL_ONCE as its first operator.",
                )
            assigned |= names
        elif op.index in uses:
            name, tensor = uses[op.index]
            if op.name == "READ_VARIABLE" and name not in assigned:
                raise _refuse(op, tensor, f"variable '{name}' is read before a value is assigned to it")
            used.add(name)
            assigned.add(name)


def find_variables(model: Model, plan: Plan) -> tuple[Variable, ...]:
    """Return every variable of the main subgraph, in order of arena offset."""
    variables = []
    initial = initial_values(model)
    for name, size in resource_sizes(model).items():
        if name in plan.variable_offsets:
            data = initial.get(name, bytes(size))
            variables.append(_variable(name, plan.variable_offsets[name], data))
    for tensor in model.main.tensors:
        if tensor.is_variable and tensor.index in plan.offsets:
            fill = tensor.zero_point & 0xFF if tensor.dtype == "int8" and tensor.quant is not None else 0
            data = bytes([fill]) * tensor.nbytes
            variables.append(_variable(tensor.name, plan.offsets[tensor.index], data))
    return tuple(sorted(variables, key=lambda v: v.offset))


def _variable(name: str, offset: int, data: bytes) -> Variable:
    fill = data[0] if data and data == data[:1] * len(data) else None
    return Variable(name, offset, len(data), fill, data)
