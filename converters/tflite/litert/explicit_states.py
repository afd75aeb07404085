"""Make the resource variables of a model inputs and outputs, so that a program can read and write their values. LiteRT
has no function for that, and sets them to their first values only in a new interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from arenite.converters.graph.model import Model, Tensor
from arenite.converters.graph.resource_variables import (
    handle_names,
    variable_assignments,
    variable_reads,
)
from arenite.converters.tflite.float_edges import quantized_values


@dataclass(frozen=True)
class State:
    """A resource variable. ``tensor`` is its first input of the model with explicit states, and ``start`` its value
    after a reset."""

    name: str
    tensor: Tensor
    start: np.ndarray


@dataclass(frozen=True)
class ExplicitStates:
    """A model with states in place of its resource variables.

    The inputs of ``model`` are those of the original model, then one for each entry of ``inputs``, which has indices of
    ``states``. Its outputs are those of the original model, then one for each entry of ``outputs``. The tensors have
    the indices of the original model.
    """

    model: Model
    states: tuple[State, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def state_tensors(model: Model) -> tuple[Tensor, ...]:
    """Return a tensor for each state of the main subgraph: the value that an operator reads from the variable."""
    graph = model.main
    return tuple(graph.tensors[reads[0].outputs[0]] for reads in variable_reads(graph).values())


def with_explicit_states(model: Model) -> ExplicitStates | None:
    """Return the model with a state for each resource variable that its main subgraph reads. Return None if it has no
    resource variables, or if they are not read once per inference, then assigned at most once, and set at first by
    CALL_ONCE."""
    graph = model.main
    names = handle_names(graph)
    if not names:
        return None
    reads, assignments = variable_reads(graph), variable_assignments(graph)
    starts = _start_values(model)
    removed = {"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"}
    inputs: list[int] = []
    outputs: list[int] = []
    more_inputs: list[int] = []
    more_outputs: list[int] = []
    states: list[State] = []
    for name in reads | assignments:
        assigned = assignments.get(name, [])
        last_read = max((op.index for op in reads.get(name, ())), default=-1)
        if len(assigned) > 1 or any(op.index < last_read for op in assigned):
            return None
        if name not in reads:
            continue
        start = starts.get(name)
        tensor = graph.tensors[reads[name][0].outputs[0]]
        if start is None or start.shape != tensor.shape or str(start.dtype) != tensor.dtype:
            return None
        for op in reads[name]:
            more_inputs.append(op.outputs[0])
            inputs.append(len(states))
        for op in assigned:
            more_outputs.append(op.inputs[1])
            outputs.append(len(states))
        states.append(State(name, tensor, start))
    ops = [op for op in graph.ops if op.name not in removed]
    main = replace(
        graph,
        ops=tuple(replace(op, index=k) for k, op in enumerate(ops)),
        inputs=(*graph.inputs, *more_inputs),
        outputs=(*graph.outputs, *more_outputs),
    )
    explicit = replace(model.with_main(main), signatures=(), repairs=())
    return ExplicitStates(explicit, tuple(states), tuple(inputs), tuple(outputs))


def _start_values(model: Model) -> dict[str, np.ndarray]:
    """Return the constants that CALL_ONCE assigns, by variable."""
    values: dict[str, np.ndarray] = {}
    for op in model.main.ops:
        if op.name != "CALL_ONCE":
            continue
        graph = model.subgraphs[op.options["init_subgraph_index"]]
        for name, assigned in variable_assignments(graph).items():
            for assignment in assigned:
                data = graph.tensors[assignment.inputs[1]].data
                if data is not None:
                    values[name] = data
    return values


def quantized_state(state: State, value: np.ndarray) -> np.ndarray:
    """Return the real values ``value`` in the type and scale of ``state``."""
    t = state.tensor
    if t.quant is None or state.start.dtype.kind == "f":
        return value.astype(state.start.dtype)
    return quantized_values(t, value)


def last_values(
    explicit: ExplicitStates, before: Sequence[np.ndarray], outputs: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Return the states after an inference that began with ``before``. ``outputs`` has the values of the outputs that
    follow those of the original model."""
    after = list(before)
    for k, value in zip(explicit.outputs, outputs, strict=True):
        after[k] = np.asarray(value).reshape(before[k].shape)
    return after
