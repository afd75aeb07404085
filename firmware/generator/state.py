"""State that a model carries between inferences: variable tensors and resource variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from arenite.converters.errors import UnsupportedModelError
from arenite.converters.graph import Model, Op, Subgraph
from arenite.converters.planner.plan import Plan


@dataclass(frozen=True)
class Variable:
    """Bytes in the arena that live for the whole run, and their value after a reset."""

    name: str
    offset: int
    nbytes: int
    fill: int | None  # every byte has this value after a reset; None: ``initial`` is copied
    initial: bytes


def resource_name(op: Op) -> str:
    """The name by which VAR_HANDLE, READ_VARIABLE and ASSIGN_VARIABLE of all subgraphs mean one variable."""
    return f"{op.options.get('container') or ''}/{op.options.get('shared_name') or ''}"


def handle_names(graph: Subgraph) -> dict[int, str]:
    """Resource tensor index to variable name."""
    return {op.outputs[0]: resource_name(op) for op in graph.ops if op.name == "VAR_HANDLE"}


def resource_sizes(model: Model) -> dict[str, int]:
    """Bytes of every resource variable, from what is read from or assigned to it."""
    sizes: dict[str, int] = {}
    for graph in model.subgraphs:
        names = handle_names(graph)
        for op in graph.ops:
            if op.name == "READ_VARIABLE":
                tensor = graph.tensors[op.outputs[0]]
            elif op.name == "ASSIGN_VARIABLE":
                tensor = graph.tensors[op.inputs[1]]
            else:
                continue
            name = names[op.inputs[0]]
            if sizes.setdefault(name, tensor.nbytes) != tensor.nbytes:
                raise UnsupportedModelError(
                    f"operator {op.index} {op.name}, tensor {tensor.index} '{tensor.name}': variable '{name}' "
                    f"has {sizes[name]} B elsewhere and {tensor.nbytes} B here.",
                    "Export the model with one fixed shape per variable.",
                )
    return sizes


def initial_values(model: Model) -> dict[str, bytes]:
    """What CALL_ONCE subgraphs assign to each resource variable; they may only assign constants."""
    values: dict[str, bytes] = {}
    for op in model.main.ops:
        if op.name != "CALL_ONCE":
            continue
        index = op.options["init_subgraph_index"]
        if not 0 < index < len(model.subgraphs):
            raise UnsupportedModelError(
                f"operator {op.index} CALL_ONCE: subgraph {index} does not exist.", "Export the model again."
            )
        graph = model.subgraphs[index]
        names = handle_names(graph)
        for inner in graph.ops:
            if inner.name == "VAR_HANDLE":
                continue
            source = graph.tensors[inner.inputs[1]] if inner.name == "ASSIGN_VARIABLE" else None
            if source is None or source.data is None:
                raise UnsupportedModelError(
                    f"operator {op.index} CALL_ONCE: its subgraph {index} computes something "
                    f"(operator {inner.index} {inner.name}); only constant assignments are supported.",
                    "Initialise the model's variables with constants.",
                )
            values[names[inner.inputs[0]]] = np.ascontiguousarray(source.data).tobytes()
    return values


def find_variables(model: Model, plan: Plan) -> tuple[Variable, ...]:
    """Every variable of the main subgraph, in order of arena offset."""
    found = []
    initial = initial_values(model)
    for name, size in resource_sizes(model).items():
        if name in plan.variable_offsets:
            data = initial.get(name, bytes(size))
            found.append(_variable(name, plan.variable_offsets[name], data))
    for tensor in model.main.tensors:
        if tensor.is_variable and tensor.index in plan.offsets:
            found.append(_variable(tensor.name, plan.offsets[tensor.index], bytes(tensor.nbytes)))
    return tuple(sorted(found, key=lambda v: v.offset))


def _variable(name: str, offset: int, data: bytes) -> Variable:
    fill = data[0] if data and data == data[:1] * len(data) else None
    return Variable(name, offset, len(data), fill, data)
