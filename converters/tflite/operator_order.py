"""Check the producer of each tensor, and move operators that come too early behind the ones that they read from."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

from arenite.converters.graph.model import Op, Tensor
from arenite.converters.tflite.diagnostics import Repairs, malformed, op_at, quoted, tensor_at

#: Operators that read or change state that no tensor shows; their order among themselves is part of the model.
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
    """``ops`` renumbered so that each tensor is computed before it is read; the given order when that already holds.

    Raises ``ModelError`` for a tensor with two producers or none, an operator that writes a constant, an input or a
    variable, and a cycle.
    """
    given = set(inputs)
    producer = _producers(subgraph, tensors, ops, given)
    for position, index in enumerate(outputs):
        t = tensors[index]
        if not (t.is_constant or t.is_variable or index in given or index in producer):
            raise malformed(
                f"Subgraph {subgraph}",
                f"outputs[{position}]",
                f"no operator produces tensor {index} {quoted(t.name)}",
            )
    late = False
    for op in ops:
        for position, index in enumerate(op.inputs):
            if index < 0 or index in given or tensors[index].is_constant or tensors[index].is_variable:
                continue
            maker = producer.get(index)
            if maker is None:
                raise malformed(
                    op_at(subgraph, op.index, op.name),
                    f"inputs[{position}]",
                    f"reads tensor {index} {quoted(tensors[index].name)}, which no operator produces",
                )
            late |= maker >= op.index
    if not late:
        return tuple(ops)
    order = _sorted(subgraph, tensors, ops, producer)
    repairs.add(
        "order",
        f"subgraph {subgraph}",
        lambda n, first: f"The operators of {first} were not in execution order; they are sorted.",
    )
    return tuple(replace(ops[old], index=new) for new, old in enumerate(order))


def _producers(
    subgraph: int, tensors: Sequence[Tensor], ops: Sequence[Op], given: set[int]
) -> dict[int, int]:
    """Tensor index to the index of the operator that produces it."""
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
            elif index in given:
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


def _sorted(
    subgraph: int, tensors: Sequence[Tensor], ops: Sequence[Op], producer: dict[int, int]
) -> list[int]:
    """Kahn's algorithm, earliest operator first; stateful operators keep their order."""
    followers: list[set[int]] = [set() for _ in ops]
    waiting = [0] * len(ops)

    def after(first: int, second: int) -> None:
        if second not in followers[first]:
            followers[first].add(second)
            waiting[second] += 1

    last_stateful = None
    for op in ops:
        for index in op.inputs:
            if index in producer:
                after(producer[index], op.index)
        if op.name in STATEFUL:
            if last_stateful is not None:
                after(last_stateful, op.index)
            last_stateful = op.index
    ready = [i for i, count in enumerate(waiting) if count == 0]
    order: list[int] = []
    while ready:
        at = heapq.heappop(ready)
        order.append(at)
        for follower in followers[at]:
            waiting[follower] -= 1
            if waiting[follower] == 0:
                heapq.heappush(ready, follower)
    if len(order) < len(ops):
        # Some of the remaining operators depend on themselves: walk back from the first until one repeats.
        raise _cycle(subgraph, tensors, ops, producer, {i for i, count in enumerate(waiting) if count})
    return order


def _cycle(
    subgraph: int, tensors: Sequence[Tensor], ops: Sequence[Op], producer: dict[int, int], left: set[int]
) -> Exception:
    at, seen = min(left), set()
    while at not in seen:
        seen.add(at)
        needed = [(p, i) for p, i in enumerate(ops[at].inputs) if producer.get(i) in left]
        if not needed:
            return malformed(
                op_at(subgraph, at, ops[at].name),
                "inputs",
                "the operator is needed by an earlier one that changes the model's state, and must not be "
                "moved before it",
            )
        at = producer[needed[0][1]]
    position, index = next((p, i) for p, i in enumerate(ops[at].inputs) if producer.get(i) in left)
    return malformed(
        op_at(subgraph, at, ops[at].name),
        f"inputs[{position}]",
        f"tensor {index} {quoted(tensors[index].name)} depends on this operator's own output (a cycle)",
    )


def check_interface(
    subgraph: int, tensors: Sequence[Tensor], inputs: Sequence[int], outputs: Sequence[int]
) -> None:
    """Check that the subgraph's inputs and outputs are in range, and that an input is a plain tensor and listed
    once."""
    for field, values in (("inputs", inputs), ("outputs", outputs)):
        for position, index in enumerate(values):
            if not 0 <= index < len(tensors):
                raise malformed(
                    f"Subgraph {subgraph}",
                    f"{field}[{position}]",
                    f"is tensor {index}, but the subgraph has {len(tensors)}",
                )
    seen: set[int] = set()
    for position, index in enumerate(inputs):
        t = tensors[index]
        field_name = f"inputs[{position}]"
        if t.is_constant or t.is_variable:
            kind = "constant" if t.is_constant else "variable"
            raise malformed(
                f"Subgraph {subgraph}", field_name, f"tensor {index} {quoted(t.name)} is a {kind}"
            )
        if index in seen:
            raise malformed(
                tensor_at(subgraph, index, t.name), field_name, "is listed twice among the inputs"
            )
        seen.add(index)
