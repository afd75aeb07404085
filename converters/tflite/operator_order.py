"""Check that each tensor has one producer, and sort the operators if one comes before the producer of its input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from arenite.converters.graph.model import Op, Tensor
from arenite.converters.graph.topological_order import topological_order
from arenite.converters.tflite.diagnostics import Repairs, malformed, op_at, quoted, tensor_at

#: Operators that read or change state, or may do so. Their relative order is part of the model and does not change.
STATEFUL = frozenset(
    {
        "ASSIGN_VARIABLE", "READ_VARIABLE", "VAR_HANDLE", "CALL_ONCE", "CALL", "IF", "WHILE", "CUSTOM", "SVDF",
        "UNIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_LSTM",
        "BIDIRECTIONAL_SEQUENCE_RNN", "LSTM", "RNN", "RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", "MULTINOMIAL",
        "HASHTABLE", "HASHTABLE_FIND", "HASHTABLE_IMPORT", "HASHTABLE_SIZE", "DELEGATE",
        "STABLEHLO_WHILE", "STABLEHLO_CUSTOM_CALL", "STABLEHLO_COMPOSITE", "STABLEHLO_RNG_BIT_GENERATOR",
    }
)  # fmt: skip


def execution_order(
    subgraph: int,
    tensors: Sequence[Tensor],
    ops: Sequence[Op],
    inputs: Sequence[int],
    outputs: Sequence[int],
    repairs: Repairs,
) -> tuple[Op, ...]:
    """Return the operators ``ops``, numbered in an order in which each tensor is computed before it is read. If their
    order is already correct, they are returned unchanged.

    ``inputs`` and ``outputs`` are the tensors of the subgraph with the number ``subgraph``. Raises ``ModelError`` for a
    tensor with two producers or none, for an operator that writes a constant, an input or a variable, and for a cycle.
    """
    input_set = set(inputs)
    producer = _producers(subgraph, tensors, ops, input_set)
    for position, index in enumerate(outputs):
        t = tensors[index]
        if not (t.is_constant or t.is_variable or index in input_set or index in producer):
            raise malformed(
                f"Subgraph {subgraph}",
                f"outputs[{position}]",
                f"no operator produces tensor {index} {quoted(t.name)}",
            )
    is_unsorted = False
    for op in ops:
        for position, index in enumerate(op.inputs):
            if index < 0 or index in input_set or tensors[index].is_constant or tensors[index].is_variable:
                continue
            writer = producer.get(index)
            if writer is None:
                raise malformed(
                    op_at(subgraph, op.index, op.name),
                    f"inputs[{position}]",
                    f"reads tensor {index} {quoted(tensors[index].name)}, which no operator produces",
                )
            is_unsorted |= writer >= op.index
    if not is_unsorted:
        return tuple(ops)
    order = _sort(subgraph, tensors, ops, producer)
    repairs.add(
        "order",
        f"subgraph {subgraph}",
        lambda n, first: f"The operators of {first} were not in execution order; they are sorted.",
    )
    return tuple(replace(ops[old], index=new) for new, old in enumerate(order))


def _producers(
    subgraph: int, tensors: Sequence[Tensor], ops: Sequence[Op], inputs: set[int]
) -> dict[int, int]:
    """Return {tensor: index of the operator that produces it}. Raises ``ModelError`` if an operator must not write
    one of its outputs."""
    producer: dict[int, int] = {}
    for op in ops:
        for position, index in enumerate(op.outputs):
            t = tensors[index]
            problem = ""
            if index in producer:
                first = ops[producer[index]]
                problem = f"is already produced by operator {first.index} ({first.name})"
            elif t.is_constant:
                problem = "is a constant"
            elif index in inputs:
                problem = "is an input of the subgraph"
            elif t.is_variable:
                problem = "is a variable"
            if problem:
                raise malformed(
                    op_at(subgraph, op.index, op.name),
                    f"outputs[{position}]",
                    f"tensor {index} {quoted(t.name)} {problem}",
                )
            producer[index] = op.index
    return producer


def _sort(subgraph: int, tensors: Sequence[Tensor], ops: Sequence[Op], producer: dict[int, int]) -> list[int]:
    """Return the operators in execution order. If several operators can run, the one with the lowest index runs.
    Stateful operators keep their order. Raises ``ModelError`` for a cycle."""
    before = [{producer[i] for i in op.inputs if i in producer} for op in ops]
    for first, second in pairwise(op.index for op in ops if op.name in STATEFUL):
        before[second].add(first)
    order = topological_order(before, range(len(ops)))
    if len(order) < len(ops):
        # The remaining operators contain a cycle.
        raise _cycle_error(subgraph, tensors, ops, producer, set(range(len(ops))).difference(order))
    return order


def _cycle_error(
    subgraph: int, tensors: Sequence[Tensor], ops: Sequence[Op], producer: dict[int, int], remaining: set[int]
) -> Exception:
    """Return the error for a cycle among the operators ``remaining``. To find it, go from an operator to the
    producer of one of its inputs until an operator repeats."""
    at, visited = min(remaining), set()
    while at not in visited:
        visited.add(at)
        needed = [(p, i) for p, i in enumerate(ops[at].inputs) if producer.get(i) in remaining]
        if not needed:
            return malformed(
                op_at(subgraph, at, ops[at].name),
                "inputs",
                "an earlier operator that changes the model's state needs this operator, which must not be "
                "moved before it",
            )
        at = producer[needed[0][1]]
    position, index = next((p, i) for p, i in enumerate(ops[at].inputs) if producer.get(i) in remaining)
    return malformed(
        op_at(subgraph, at, ops[at].name),
        f"inputs[{position}]",
        f"tensor {index} {quoted(tensors[index].name)} depends on this operator's own output (a cycle)",
    )


def check_interface(
    subgraph: int, tensors: Sequence[Tensor], inputs: Sequence[int], outputs: Sequence[int]
) -> None:
    """Check that the subgraph's inputs and outputs exist, and that every input is listed once and is neither a constant
    nor a variable. Raises ``ModelError``."""
    for field, values in (("inputs", inputs), ("outputs", outputs)):
        for position, index in enumerate(values):
            if not 0 <= index < len(tensors):
                raise malformed(
                    f"Subgraph {subgraph}",
                    f"{field}[{position}]",
                    f"is tensor {index}, but the subgraph has {len(tensors)}",
                )
    listed: set[int] = set()
    for position, index in enumerate(inputs):
        t = tensors[index]
        field_name = f"inputs[{position}]"
        if t.is_constant or t.is_variable:
            kind = "constant" if t.is_constant else "variable"
            raise malformed(
                f"Subgraph {subgraph}", field_name, f"tensor {index} {quoted(t.name)} is a {kind}"
            )
        if index in listed:
            raise malformed(
                tensor_at(subgraph, index, t.name), field_name, "is listed twice among the inputs"
            )
        listed.add(index)
